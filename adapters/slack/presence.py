"""What a workspace has beside its cards: the Home tab, the command, the shortcuts, the threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adapters.channel import Intake
from adapters.inbox import Inbox
from adapters.slack.client import SlackClient
from adapters.slack.desk import Desk
from adapters.slack.homes import Homes
from adapters.slack.inflight import InFlight
from adapters.slack.places import Places
from adapters.slack.reminding import QuietHours
from adapters.slack.session_threads import SessionThreads
from adapters.slack.talk import Talk
from adapters.slack.thread_replies import CardThreads
from adapters.slack.viewers import Viewers
from adapters.talks import Talks
from host.store.documents import Documents


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the gateway hands in: the inbox of its people, a place to keep things, the time (ms), the
    language of those of whom none is known, when nobody is named in a reminder (`22:00-07:00`), and the
    door for what is said in threads of sessions."""

    inbox: Inbox
    documents: Documents
    clock: Callable[[], int]
    locale: str = "en"
    quiet_hours: str = ""
    talks: Talks | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """The parts, made for one workspace."""

    desk: Desk
    homes: Homes
    threads: CardThreads
    talk: Talk
    viewers: Viewers
    quiet: QuietHours | None
    talks: SessionThreads | None


def make(
    client: SlackClient, intake: Intake, inflight: InFlight, team: str, around: Surroundings
) -> Presence:
    """The presence of one workspace. Calls nothing yet."""
    viewers = Viewers(client, around.locale)
    places = Places(around.documents, around.clock)
    homes = Homes(client, around.inbox, viewers, around.documents, around.clock)
    desk = Desk(client, intake, around.inbox, homes, places, viewers, inflight, team)
    talks = None
    if around.talks is not None:
        talks = SessionThreads(around.talks, client, viewers, inflight)
    return Presence(
        desk,
        homes,
        CardThreads(intake, places, viewers),
        Talk(client, places),
        viewers,
        QuietHours.read(around.quiet_hours),
        talks,
    )
