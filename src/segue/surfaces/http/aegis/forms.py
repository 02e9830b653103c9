"""What Aegis Memory's clients send and get: the fields that its SDK 2.7.0 reads, and a few that it does not.

What is not named here is passed over, as their own server does: a program that sends more still works.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.memories.model import CONTENT_BYTES_MAX, TOP_K_MAX

Name = Annotated[str, Meta(min_length=1, max_length=128)]
Text = Annotated[str, Meta(min_length=1, max_length=CONTENT_BYTES_MAX)]
Query = Annotated[str, Meta(min_length=1, max_length=20_000)]
Count = Annotated[int, Meta(ge=1, le=TOP_K_MAX)]
Share = Annotated[float, Meta(ge=-1.0, le=1.0)]
DEFAULT = "default"


# -- sessions --------------------------------------------------------------------------------------


class NewSession(msgspec.Struct):
    """A session to be; if it is there already it stays as it is."""

    session_id: Name
    agent_id: str | None = None
    user_id: str | None = None
    namespace: str = DEFAULT


class BlockedIn(msgspec.Struct):
    """An item that waits, and for what."""

    item: str
    reason: str | None = None


class SessionChange(msgspec.Struct):
    """How far a session is: what is done is added, what is next and what is blocked take the place of what
    was there, what is not given stays."""

    completed_items: list[str] | None = None
    in_progress_item: str | None = None
    next_items: list[str] | None = None
    blocked_items: list[BlockedIn] | None = None
    summary: str | None = None
    last_action: str | None = None
    status: str | None = None
    total_items: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None


# -- features --------------------------------------------------------------------------------------


class NewFeature(msgspec.Struct):
    """A feature to be; if it is there already it stays as it is."""

    feature_id: Name
    description: Text
    session_id: Name | None = None
    namespace: str = DEFAULT
    category: str | None = None
    test_steps: list[str] | None = None


class FeatureChange(msgspec.Struct):
    """How far a feature is. That it passes is a claim, unless ``verified_by`` attests it."""

    status: str | None = None
    passes: bool | None = None
    implemented_by: str | None = None
    verified_by: str | None = None
    implementation_notes: str | None = None
    failure_reason: str | None = None


class FeatureOut(msgspec.Struct):
    """A feature as those clients read it."""

    id: str
    feature_id: str
    description: str
    status: str
    passes: bool
    updated_at: str
    category: str | None
    test_steps: list[str]
    implemented_by: str | None
    verified_by: str | None
    failure_reason: str | None
    session_id: str
    verdict: str
    """What Segue calls it: ``passing`` is proven, ``stale`` was."""


class FeaturesOut(msgspec.Struct):
    """Features, and how many of all of them are what."""

    features: list[FeatureOut]
    total: int
    passing: int
    failing: int
    in_progress: int


# -- memories --------------------------------------------------------------------------------------


class NewMemory(msgspec.Struct):
    """A memory to be kept; the same text for the same readers is kept once."""

    content: Text
    user_id: str | None = None
    agent_id: str | None = None
    namespace: str = DEFAULT
    metadata: dict[str, Any] | None = None
    ttl_seconds: float | None = None
    scope: str | None = None
    shared_with_agents: list[str] | None = None
    derived_from_agents: list[str] | None = None
    coordination_metadata: dict[str, Any] | None = None
    memory_type: str = "standard"
    session_id: str | None = None


class NewMemories(msgspec.Struct):
    """Memories to be kept, all or none."""

    items: Annotated[list[NewMemory], Meta(min_length=1, max_length=100)]


class Added(msgspec.Struct):
    """A memory that is kept."""

    id: str
    deduped_from: str | None = None
    inferred_scope: str | None = None


class AddedMany(msgspec.Struct):
    """Memories that are kept, in order."""

    results: list[Added]
    total_time_ms: float
    embeddings_cached: int = 0


class MemoryQuery(msgspec.Struct):
    """What is looked for, and as whom."""

    query: Query
    user_id: str | None = None
    agent_id: str | None = None
    namespace: str = DEFAULT
    top_k: Count = 10
    min_score: float = 0.0
    apply_decay: bool = False
    filter_metadata: dict[str, Any] | None = None
    memory_type: str | None = None
    candidate_pool: int = 40


class CrossQuery(msgspec.Struct):
    """What is looked for among what other agents left for one."""

    query: Query
    requesting_agent_id: Name
    target_agent_ids: list[str] | None = None
    user_id: str | None = None
    namespace: str = DEFAULT
    top_k: Count = 10
    min_score: float = 0.0
    apply_decay: bool = False


class MemoryOut(msgspec.Struct):
    """A memory as those clients read it."""

    id: str
    content: str
    namespace: str
    created_at: str
    updated_at: str
    scope: str
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    metadata: dict[str, Any]
    shared_with_agents: list[str]
    derived_from_agents: list[str]
    coordination_metadata: dict[str, Any]
    score: float | None
    memory_type: str
    bullet_helpful: int
    bullet_harmful: int
    effectiveness_score: float
    content_flags: list[str]
    trust_level: str
    error_pattern: str | None
    is_deprecated: bool
    deprecation_reason: str | None
    superseded_by: str | None


class Found(msgspec.Struct):
    """What answers a query, the best first."""

    memories: list[MemoryOut]
    query_time_ms: float


class MemoryChangeIn(msgspec.Struct):
    """What of a memory becomes another; metadata is added to what is there."""

    content: Text | None = None
    metadata: dict[str, Any] | None = None
    trust_level: str | None = None


class Ballot(msgspec.Struct):
    """Whether a memory was of help."""

    vote: str
    voter_agent_id: Name
    context: str | None = None
    task_id: str | None = None


class Voted(msgspec.Struct):
    """How a memory stands after a vote."""

    memory_id: str
    bullet_helpful: int
    bullet_harmful: int
    effectiveness_score: float


class Operation(msgspec.Struct):
    """Add, update or deprecate a memory."""

    type: str
    content: str | None = None
    memory_type: str | None = None
    agent_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    scope: str | None = None
    metadata: dict[str, Any] | None = None
    ttl_seconds: float | None = None
    memory_id: str | None = None
    metadata_patch: dict[str, Any] | None = None
    superseded_by: str | None = None
    deprecation_reason: str | None = None


class Delta(msgspec.Struct):
    """Operations, each for itself."""

    operations: Annotated[list[Operation], Meta(min_length=1, max_length=100)]


class Operated(msgspec.Struct):
    """What came of an operation."""

    operation: str
    success: bool
    memory_id: str | None = None
    error: str | None = None


class DeltaOut(msgspec.Struct):
    """What came of each."""

    results: list[Operated]
    total_time_ms: float


class NewReflection(msgspec.Struct):
    """What was learnt from how something went."""

    content: Text
    agent_id: Name
    user_id: str | None = None
    namespace: str = DEFAULT
    source_trajectory_id: str | None = None
    error_pattern: str | None = None
    correct_approach: str | None = None
    applicable_contexts: list[str] | None = None
    scope: str | None = None
    metadata: dict[str, Any] | None = None


class Reflected(msgspec.Struct):
    """A reflection that is kept."""

    id: str
    scope: str
    memory_type: str = "reflection"
    effectiveness_score: float = 0.0


class PlaybookQuery(msgspec.Struct):
    """A task, for which strategies are looked for."""

    agent_id: Name
    query: Query = "general task strategies"
    namespace: str = DEFAULT
    task_type: str | None = None
    include_types: list[str] | None = None
    top_k: Count = 20
    min_effectiveness: Share = -1.0


class Strategy(msgspec.Struct):
    """A strategy or a reflection."""

    id: str
    content: str
    memory_type: str
    effectiveness_score: float
    bullet_helpful: int
    bullet_harmful: int
    created_at: str
    error_pattern: str | None = None


class Strategies(msgspec.Struct):
    """Those that worked first."""

    entries: list[Strategy]
    query_time_ms: float
