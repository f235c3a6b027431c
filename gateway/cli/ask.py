"""`sayso ask`: an approval from the shell, for scripts."""

from __future__ import annotations

from rich.console import Console

from sayso import Sayso, SaysoError

errors = Console(stderr=True, highlight=False, soft_wrap=True)


def ask_and_wait(
    title: str, notify: list[str] | None, approvers: list[str] | None, timeout: float | None
) -> int:
    """Exit code: 0 approved, 1 not approved, 2 it could not be asked, 130 interrupted."""
    try:
        with Sayso() as client, client.run() as run:
            decision = run.approve(title, notify=notify, approvers=approvers, timeout=timeout)
    except (SaysoError, ValueError) as error:
        errors.print(str(error), style="red", markup=False)
        return 2
    except KeyboardInterrupt:
        errors.print("Withdrawn: nobody is asked any more.")
        return 130
    who = f" by {decision.by}" if decision.by else ""
    print(f"{'approved' if decision.approved else decision.action}{who}")
    return 0 if decision.approved else 1
