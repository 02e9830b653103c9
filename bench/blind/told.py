"""`python -m bench.blind.told TRANSCRIPT [BYTES]`: what hooks tell the next run of a transcript.

As a contender: ``--contender segue="$PWD/.venv/bin/python -m bench.blind.told"``. Unlike ``segue brief``,
which fills a large budget with quotes, a run is told what stands, in as many bytes as its words need.
"""

from __future__ import annotations

import sys
from pathlib import Path

from segue.services.brief.brief import render_brief
from segue.services.brief.runs_summary import facts_of_runs, summary_of_transcript

BYTES = 8_192  # the setting hook_brief_bytes, by default

if __name__ == "__main__":
    budget = int(sys.argv[2]) if len(sys.argv) > 2 else BYTES
    print(render_brief(facts_of_runs(summary_of_transcript(Path(sys.argv[1]))), budget=budget))
