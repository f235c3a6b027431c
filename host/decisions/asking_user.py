"""ask_user: its questions as a schema that a person can answer, and answers to and fro. Pure.

Symfonic's answers are a list, one entry a question; a form wants one object a question. The schema that
people answer by is made of the questions, and both ways of saying an answer are translated into each other.
What is right follows `validate_against_request` (symfonic: ask_user), the odd corner too: an `other` that
is there and empty counts as given.
"""

from __future__ import annotations

from typing import Any

from schemas.symfonic import (
    AskUserQuestion,
    AskUserRequest,
    AskUserResponse,
)


def schema_of(request: AskUserRequest) -> dict[str, Any]:
    """What an answer is, as an object with one member a question."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [question.id for question in request.questions],
        "properties": {question.id: _answer(question) for question in request.questions},
    }


def _answer(question: AskUserQuestion) -> dict[str, Any]:
    labels = [_label(option.label, option.description) for option in question.options]
    chosen: dict[str, Any] = {
        "type": "string",
        "title": question.header or "Choice",
        "oneOf": labels,
    }
    name = "selection"
    if question.multi_select:
        name = "selections"
        chosen = {
            "type": "array",
            "title": question.header or "Choices",
            "items": {"type": "string", "oneOf": labels},
            "uniqueItems": True,
            "maxItems": 4,
        }
    properties: dict[str, Any] = {name: chosen}
    if question.allow_other:
        properties["other"] = {"type": "string", "title": "Something else", "maxLength": 1000}
    found: dict[str, Any] = {
        "type": "object",
        "title": question.question,
        "additionalProperties": False,
        "properties": properties,
        "minProperties": 1,
    }
    if not question.allow_other:
        found["required"] = [name]
        if question.multi_select:
            chosen["minItems"] = 1
    return found


def _label(label: str, description: str) -> dict[str, Any]:
    found = {"const": label, "title": label}
    return {**found, "description": description} if description else found


def problem(response: AskUserResponse, request: AskUserRequest) -> str:
    """What is wrong with an answer, or ""."""
    asked = {question.id: question for question in request.questions}
    given = {answer.question_id for answer in response.answers}
    if given != set(asked):
        return "every question has to be answered, and no other"
    for answer in response.answers:
        question = asked[answer.question_id]
        labels = {option.label for option in question.options}
        if not set(answer.selections) <= labels:
            return f"{answer.question_id}: a label is selected that was not offered"
        if len(answer.selections) > 1 and not question.multi_select:
            return f"{answer.question_id}: only one label may be selected"
        if answer.other is not None and not question.allow_other:
            return f"{answer.question_id}: this question takes no other answer"
    return ""


def value_of(response: AskUserResponse, request: AskUserRequest) -> dict[str, Any]:
    """The answer as the schema has it."""
    asked = {question.id: question for question in request.questions}
    found: dict[str, Any] = {}
    for answer in response.answers:
        said: dict[str, Any] = {}
        if asked[answer.question_id].multi_select:
            if answer.selections:
                said["selections"] = list(answer.selections)
        elif answer.selections:
            said["selection"] = answer.selections[0]
        if answer.other is not None:
            said["other"] = answer.other
        found[answer.question_id] = said
    return found


def response_of(value: dict[str, Any], request: AskUserRequest) -> AskUserResponse:
    """The answer as symfonic has it. Raises `ValueError` for one that says nothing."""
    answers = []
    for question in request.questions:
        said = value.get(question.id, {})
        one = said.get("selection")
        selections = said.get("selections", [one] if one is not None else [])
        answer = {"question_id": question.id, "selections": selections}
        if "other" in said:
            answer["other"] = said["other"]
        answers.append(answer)
    return AskUserResponse.model_validate({"answers": answers})
