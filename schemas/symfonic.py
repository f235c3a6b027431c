"""Symfonic's wire: stream events, the ask_user family, the claims of a pause token (symfonic: objects).

Members are snake_case and unknown ones are ignored, as their own classes have it. Times are ISO 8601 with
microseconds and `Z`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

ASK_USER: Final = "ask_user"
"""The interrupt that is built in."""

InterruptId = Annotated[str, StringConstraints(pattern=r"\Ai-[a-f0-9]{12}\z")]
QuestionId = Annotated[str, StringConstraints(pattern=r"\Aq-[a-f0-9]{12}\z")]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Label = Annotated[str, Field(min_length=1, max_length=80)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    def wire(self) -> dict[str, Any]:
        """As JSON."""
        return self.model_dump(mode="json")


class InterruptEvent(_Frozen):
    """A pause. `pause_token` is what answers it."""

    type: Literal["interrupt"] = "interrupt"
    name: Name
    pause_token: str = Field(repr=False)
    payload: dict[str, Any]
    expires_at: datetime
    interrupt_id: InterruptId
    run_id: str
    session_id: str = ""


class InterruptResolvedEvent(_Frozen):
    """It was answered. The time to resolve counts from the mint, in seconds."""

    type: Literal["interrupt_resolved"] = "interrupt_resolved"
    name: Name
    interrupt_id: InterruptId
    response: dict[str, Any]
    run_id: str
    session_id: str = ""
    time_to_resolve_seconds: Annotated[float, Field(ge=0)] = 0.0


class InterruptExpiredEvent(_Frozen):
    """Its time was over. No run and no session, as theirs has none."""

    type: Literal["interrupt_expired"] = "interrupt_expired"
    name: Name
    interrupt_id: InterruptId
    scope_hash: str
    expired_at: datetime
    swept_at: datetime


class AskUserOption(_Frozen):
    label: Label
    description: Annotated[str, Field(max_length=400)]
    preview: Annotated[str, Field(max_length=4000)] | None = None


class AskUserQuestionInput(_Frozen):
    """A question as a program asks it: its id is stamped here and never by a model."""

    question: Annotated[str, Field(min_length=3, max_length=500)]
    header: Annotated[str, Field(max_length=12)] = ""
    options: Annotated[list[AskUserOption], Field(min_length=2, max_length=4)]
    multi_select: bool = False
    allow_other: bool = False

    @model_validator(mode="after")
    def _labels_unique(self) -> AskUserQuestionInput:
        labels = [option.label for option in self.options]
        if len(set(labels)) != len(labels):
            raise ValueError("the labels of a question's options must be unique")
        return self


class AskUserQuestion(AskUserQuestionInput):
    id: QuestionId


class AskUserRequestInput(_Frozen):
    questions: Annotated[list[AskUserQuestionInput], Field(min_length=1, max_length=4)]


class AskUserRequest(_Frozen):
    questions: Annotated[list[AskUserQuestion], Field(min_length=1, max_length=4)]

    @model_validator(mode="after")
    def _ids_unique(self) -> AskUserRequest:
        ids = [question.id for question in self.questions]
        if len(set(ids)) != len(ids):
            raise ValueError("question ids must be unique")
        return self


class AskUserAnswer(_Frozen):
    question_id: QuestionId
    selections: Annotated[list[str], Field(max_length=4)] = []
    other: Annotated[str, Field(max_length=1000)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> AskUserAnswer:
        if len(set(self.selections)) != len(self.selections):
            raise ValueError("a label is selected twice")
        if not self.selections and not self.other:
            raise ValueError("an answer needs a selection or another text")
        return self


class AskUserResponse(_Frozen):
    answers: Annotated[list[AskUserAnswer], Field(min_length=1, max_length=4)]

    @model_validator(mode="after")
    def _once_each(self) -> AskUserResponse:
        ids = [answer.question_id for answer in self.answers]
        if len(set(ids)) != len(ids):
            raise ValueError("a question is answered twice")
        return self


class AskUserQuestionEvent(_Frozen):
    """ask_user has paused."""

    run_id: str
    session_id: str = ""
    pause_token: str = Field(repr=False)
    request: AskUserRequest
    tool_call_id: str
    expires_at: datetime


class AskUserAnsweredEvent(_Frozen):
    """ask_user was answered: all labels of all answers, in order."""

    run_id: str
    session_id: str = ""
    tool_call_id: str
    selected_labels: list[str]
    has_other: bool
    time_to_answer_seconds: Annotated[float, Field(ge=0)] = 0.0


class AskUserExpiredEvent(_Frozen):
    run_id: str
    scope_hash: str
    expired_at: datetime
    swept_at: datetime


class PauseClaims(_Frozen):
    """The eleven claims of a pause token. A token of before generic interrupts has no name: ask_user."""

    run_id: str
    session_id: str
    scope_hash: str
    thread_id: str
    checkpoint_id: str
    tool_call_id: str = ""
    request_hash: str
    exp: int
    jti: Annotated[str, Field(min_length=1, max_length=256)]
    name: str = ASK_USER
    interrupt_id: str = ""


class PauseBody(BaseModel):
    """Body of `POST /compat/symfonic/api/v1/interrupts`: what `agent.interrupt` is in their process.

    `run_id` puts a further pause into a run that is there; without it a run is begun.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    payload: dict[str, Any]
    session_id: Annotated[str, Field(max_length=256)] = ""
    run_id: Annotated[str, Field(max_length=300)] = ""
    tool_call_id: Annotated[str, Field(max_length=256)] = ""
    notify: Annotated[list[Annotated[str, Field(max_length=400)]], Field(max_length=50)] | None = (
        None
    )
