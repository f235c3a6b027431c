"""A name server on loopback that knows a few TXT records (dnspython)."""

from __future__ import annotations

import asyncio

import dns.message
import dns.rcode
import dns.resolver
import dns.rrset


class DnsServer(asyncio.DatagramProtocol):
    """Use as `async with`. `records` maps names, with the dot at their end, to the text of a record."""

    def __init__(self, records: dict[str, bytes]) -> None:
        self.records = records
        self.asked: list[str] = []

    async def __aenter__(self) -> DnsServer:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport.close()

    @property
    def resolver(self) -> dns.resolver.Resolver:
        """One that asks here and nowhere else."""
        made = dns.resolver.Resolver(configure=False)
        made.nameservers = ["127.0.0.1"]
        made.port = self._transport.get_extra_info("sockname")[1]
        return made

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        name = query.question[0].name.to_text().lower()
        self.asked.append(name)
        answer = dns.message.make_response(query)
        record = self.records.get(name)
        if record is None:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            pieces = " ".join(
                f'"{record[at : at + 255].decode()}"' for at in range(0, len(record), 255)
            )
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", pieces))
        self._transport.sendto(answer.to_wire(), addr)
