"""Draws a life from a seed: five to twelve runs of several agents, which end in all the ways in which runs
end."""

from __future__ import annotations

from .agents import Agents
from .author import Scene
from .model import EVERYTHING, HOOKED, UNHOOKED, Abilities, Dies, Ends, Life, LifeRun, Runs

CLEARED = ("claude-code", "codex", "gemini-cli")
"""Agents that start anew in the same process when their window is cleared."""
PAUSES_SECONDS = (400, 900, 2_400, 7_000, 30_000)
"""How long it takes until the next run, at least; up to twice as long."""
BUILDS = ("make all", "npm run build", "cargo build", "tox", "docker compose build")


def life(seed: int, able: Abilities = EVERYTHING) -> Life:
    """The life of a seed. It ends with a run that has hooks, which can be asked what it was told."""
    author = _Lives(seed, able)
    number = author.rng.randint(able.runs_min, able.runs_max)
    runs = [author.run(None)]
    while len(runs) < number:
        runs.append(author.run(runs[-1], is_last=len(runs) == number - 1))
    return Life(seed, tuple(runs))


class _Lives(Agents):
    """Writes runs."""

    def run(self, before: LifeRun | None, *, is_last: bool = False) -> LifeRun:
        cleared = before is not None and before.acts[-1] == Ends(cleared=True)
        hooks = cleared or is_last or bool(self.able.agent) or self.chance(0.75)
        agent = before.agent if before is not None and cleared else self._agent(hooks)
        scene = self.scene = Scene(agent, hooks)
        how = "turn" if is_last else self._how_it_ends(is_first=before is None)
        scene.is_mute = how in ("at once", "unwritten")
        if hooks and self.chance(0.5):
            self.unlisted.clear()  # the agent was told of these findings, and puts them on its list
        if before is None:
            self.give_task()
        else:
            self.begin_turn(goes_on=is_last)
        if not scene.is_mute:
            self._work(1 if is_last else self.rng.randint(1, self.able.moves_max))
        self._end(how)
        pause = self.rng.choice(PAUSES_SECONDS) * self.rng.uniform(1, 2)
        return LifeRun(
            agent, tuple(scene.acts), hooks,
            writes=how != "unwritten", source="clear" if cleared else "startup",
            after_seconds=4.0 if cleared else round(pause),
            keyed=agent == "claude-code" and self.chance(0.4),
        )  # fmt: skip

    def _agent(self, hooks: bool) -> str:
        if self.able.agent:
            return self.able.agent
        return self.rng.choice(HOOKED if hooks else (*HOOKED, "codex", "codex", *UNHOOKED))

    def _how_it_ends(self, *, is_first: bool) -> str:
        ways = {"exit": 30, "turn": 18, "command": 20, "prompt": 8}
        if self.able.clears and self.scene.hooks and self.scene.agent in CLEARED:
            ways["clear"] = 12
        if not is_first or self.chance(0.3):
            ways["at once"] = 8
            ways["unwritten"] = 8 if self.scene.hooks else 0
        return self.rng.choices([*ways], [*ways.values()])[0]

    def _work(self, moves: int) -> None:
        if self.planned and self.knows_task() and self.chance(0.9):
            self.plan()
        for _ in range(moves):
            if not self.scene.is_open and not self.may_prompt():
                return
            if not self.scene.is_open and (self.question is not None or self.chance(0.7)):
                self.begin_turn()
            elif self.chance(0.22) and self.may_prompt():
                self.say_something()
            else:
                self.act()

    def _end(self, how: str) -> None:
        if not self.may_prompt() and how in ("prompt", "command"):
            how = "command" if self.scene.is_open else "turn"
        if how == "prompt":
            if self.scene.is_open:
                self.stop()
            self.scene.is_mute = True
            self.begin_turn()
        if how == "command":
            if not self.scene.is_open:
                self.begin_turn()
            self.do(Runs(self.pick(BUILDS), exit=None))
        if how in ("at once", "unwritten", "prompt", "command"):
            self.do(Dies())
            return
        if self.scene.is_open:
            self.stop()
        if how != "turn":
            self.do(Ends(cleared=how == "clear"))
