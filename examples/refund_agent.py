"""An agent that wants to refund 4,000 € and asks first. Run it again: it asks nobody twice."""

from sayso import Sayso

ORDER = {"order": "4711", "amount": "4000.00", "currency": "EUR"}


def main() -> None:
    with Sayso() as sayso, sayso.run(key="refund-4711") as run:
        decision = run.approve(
            "Refund 4,000.00 € to Acme Ltd",
            artifact=ORDER,
            timeout=4 * 3600,  # seconds; after that it counts as rejected
        )
        if decision:
            print(f"Refunding {decision.value['amount']}, approved by {decision.by}.")
        else:
            print(f"Not refunding: {decision.action}. {decision.feedback}")


if __name__ == "__main__":
    main()
