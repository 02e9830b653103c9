"""Words that are in most checkpoints of LangGraph, with which short pieces are compressed.

What was compressed with them needs exactly these bytes: another list gets another name, and this one stays.
"""

from __future__ import annotations

NAMES = (
    b"additional_kwargs\x80\xb1response_metadata\x80\xaatool_calls\x90\xb2invalid_tool_calls\x90"
    b"\xaeusage_metadata\xc0\xacinput_tokens\xadoutput_tokens\xactotal_tokens\xa4name\xa4args\xa4type"
    b"\xa6system\xa4tool\xaclangchain_core.messages.tool\xabToolMessage\xactool_call_id\xa6status\xa7success"
    b"langchain_core.messages.ai\xa9AIMessage\x83\xa7content\xa2id\xa4type\xa2ai\xb3model_validate_json"
    b"langchain_core.messages.human\xacHumanMessage\x83\xa7content\xa2id\xa4type\xa5human\xb3model_validate_json"
    b"__pregel_tasks\xa9__start__\xaabranch:to:\xadversions_seen\xa7messages\xa5agent\xa5tools"
    b"\xa6source\xa5input\xa4loop\xa4step\xa7parents\x80\xa6run_id\xa9thread_id"
    b"\x93\xa7msgpack\xc4\x01empty\xc4\x00null\x87\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00"
    b"\xa2id\xd9$1f100000-0000-6000-8000-000000000000\xb0channel_values\xb0channel_versions\x83"
    b"\xadversions_seen\x82\xa9__input__\x80\xb0updated_channels\xc0"
)
