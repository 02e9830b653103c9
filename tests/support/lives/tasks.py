"""Tasks for lives: what a user asks for, in one to four sentences, and what an agent makes of it.

``{a}`` is the area that the task is about, ``{x}`` a name of its own for each item. What follows the bar is
how people speak of an item.
"""

from __future__ import annotations

from typing import NamedTuple


class TaskForm(NamedTuple):
    about: str
    goal: str
    more: tuple[str, ...]
    items: tuple[str, ...]


def _form(about: str, goal: str, more: str, *items: str) -> TaskForm:
    return TaskForm(about, goal, tuple(more.split("\n")), items)


TASKS: tuple[TaskForm, ...] = (
    _form(
        "the move of {a} to Decimal",
        "Move the {a} service from float to Decimal, in src/ and in the API.",
        "Sums must be right to the cent.\n"
        "The columns of {a} become NUMERIC(12,2).\n"
        "Nobody may notice it but accounting.",
        "Convert src/{x}.py to Decimal|src/{x}.py",
        "Migrate the amounts of {x} to NUMERIC|the migration of {x}",
        "Serialise amounts as strings in api/{x}.py|the strings in api/{x}.py",
        "Convert the PDF export in src/{x}.py|the PDF export",
        "Describe rounding in docs/{x}.md|the page about rounding",
    ),
    _form(
        "the login of {a}",
        "Replace the cookies of the {a} login by signed tickets with an expiry.",
        "A ticket lives for twenty minutes.\n"
        "Old clients of {a} get a clear error.\n"
        "The admin pages keep their own login.",
        "Sign tickets in auth/{x}.py|the signing",
        "Let tickets expire in auth/{x}.py|the expiry",
        "Refuse old cookies in middleware/{x}.py|the refusal of old cookies",
        "Rotate the signing material by jobs/{x}.py|the rotation",
        "Explain the new login in docs/{x}.md|the page about the login",
    ),
    _form(
        "the importer of {a}",
        "Write an importer for the CSV files that {a} sends us every night.",
        "Files have up to two million rows.\n"
        "A bad row must not stop the others.\n"
        "Report to ops what was left out of {a}.",
        "Read rows in chunks in importers/{x}.py|the chunked reading",
        "Collect bad rows in importers/{x}.py|the bad rows",
        "Send the nightly report from jobs/{x}.py|the nightly report",
        "Test the importer with tests/test_{x}.py|the tests of the importer",
    ),
    _form(
        "the search page of {a}",
        "Make the search page of {a} fast again.",
        "It takes four seconds with ten thousand entries.\n"
        "It should answer within 300 ms.\n"
        "Measure before you change anything in {a}.",
        "Measure the queries with bench/{x}.py|the measurement",
        "Add an index for {x} to the schema|the index for {x}",
        "Cache the facets in search/{x}.py|the facet cache",
        "Page the results in search/{x}.py|the paging",
    ),
    _form(
        "the command line of {a}",
        "Give {a} a command line with the verbs list, show and prune.",
        "It prints tables for people and JSON for programs.\nErrors go to standard error.",
        "Parse the arguments in cli/{x}.py|the parsing of arguments",
        "Print tables in cli/{x}.py|the tables",
        "Print JSON in cli/{x}.py|the JSON output",
        "Complete words in the shell by completions/{x}.bash|the completion",
        "Describe the verbs in man/{x}.1|the description of the verbs",
    ),
    _form(
        "the removal of jQuery from {a}",
        "Remove jQuery from the {a} front end.",
        "Start with the pages that customers see.\nNothing may look different in {a}.",
        "Rewrite the menu in web/{x}.ts|the menu",
        "Rewrite the date picker in web/{x}.ts|the date picker",
        "Rewrite the upload form in web/{x}.ts|the upload form",
        "Drop the old bundle {x}.min.js|the old bundle",
    ),
    _form(
        "the rate limits of {a}",
        "Add rate limits to the public API of {a}.",
        "A hundred calls a minute for each client are enough.\n"
        "Tell clients of {a} when they may call again.\n"
        "Internal callers are exempt.",
        "Count calls in limits/{x}.py|the counting",
        "Answer 429 with Retry-After in limits/{x}.py|the answer 429",
        "Exempt internal callers in limits/{x}.py|the exemption",
        "Chart refused calls on dashboards/{x}.json|the chart",
    ),
    _form(
        "the retries of {a}",
        "The {a} worker gives up at the first network error: let it try again.",
        "Wait longer each time, up to a minute.\nAfter eight tries a person must look at it.",
        "Back off in workers/{x}.py|the backing off",
        "Park what failed in workers/{x}.py|the parking",
        "Alert by alerts/{x}.yml|the alert",
        "Simulate outages in tests/test_{x}.py|the simulated outages",
    ),
    _form(
        "the split of {a}",
        "Split the {a} module, it has grown to four thousand lines.",
        "One file for each capability.\nImports from outside {a} keep working.\nDo it in small commits.",
        "Move the readers to {x}/readers.py|the readers",
        "Move the writers to {x}/writers.py|the writers",
        "Keep the old names in {x}/compat.py|the old names",
        "Draw the new layout in docs/{x}.md|the drawing",
    ),
    _form(
        "the time zones of {a}",
        "Fix the reminders of {a} that come an hour late after the clocks change.",
        "Customers in Chile complained first.\nStore the zone with every reminder of {a}.",
        "Store the zone in models/{x}.py|the stored zone",
        "Compute due times in schedule/{x}.py|the due times",
        "Repair old rows by migrations/{x}.sql|the repair of old rows",
        "Cover both changes of the clock in tests/test_{x}.py|the tests of both changes",
    ),
    _form(
        "the upload of {a}",
        "Let users of {a} upload files of up to 5 GB, in parts.",
        "A broken upload goes on where it stopped.\nScan every file of {a} before others see it.",
        "Accept parts in uploads/{x}.py|the parts",
        "Resume broken uploads in uploads/{x}.py|the resuming",
        "Scan files by jobs/{x}.py|the scan",
        "Show the progress in web/{x}.tsx|the progress bar",
        "Delete orphans by jobs/{x}.py|the orphans",
    ),
    _form(
        "the audit log of {a}",
        "We need an audit log of everything that administrators do in {a}.",
        "It must not be possible to change an entry.\n"
        "Keep it for ten years.\n"
        "Lawyers of {a} want to filter it by person.",
        "Write entries in audit/{x}.py|the entries",
        "Chain entries by hashes in audit/{x}.py|the chain of hashes",
        "Filter by person in web/{x}.py|the filter",
        "Archive old entries by jobs/{x}.py|the archive",
    ),
    _form(
        "the upgrade of {a} to Python 3.13",
        "Upgrade {a} to Python 3.13 and drop 3.9.",
        "CI first, then the images.\nTell me which packages of {a} hold us back.",
        "Raise the version in {x}/pyproject.toml|the raised version",
        "Replace distutils in tools/{x}.py|the replacement of distutils",
        "Rebuild the image {x}.dockerfile|the image",
        "Mend the warnings in src/{x}.py|the warnings",
    ),
    _form(
        "the types of {a}",
        "Make {a} pass mypy in strict mode.",
        "Begin with the leaves.\nNo ignores without a reason in {a}.",
        "Annotate {x}/models.py|the annotations of the models",
        "Annotate {x}/views.py|the annotations of the views",
        "Replace dicts by classes in {x}/payloads.py|the payload classes",
        "Turn on strict mode in {x}/mypy.ini|strict mode",
    ),
    _form(
        "the invoices of {a}",
        "Customers of {a} want their invoices by e-mail, as PDF.",
        "In the language of the customer.\nNever twice the same one.\nReuse the templates of {a}.",
        "Render the PDF in invoices/{x}.py|the rendering",
        "Queue mails in mail/{x}.py|the queue of mails",
        "Translate the templates in locale/{x}.po|the translations",
        "Keep a record of what was sent in mail/{x}.py|the record of mails",
    ),
    _form(
        "the cache of {a}",
        "Put a cache in front of the prices of {a}.",
        "Prices change once an hour at most.\n"
        "After a change nobody may see an old price of {a} for longer than ten seconds.",
        "Cache prices in pricing/{x}.py|the price cache",
        "Drop entries on change in pricing/{x}.py|the dropping of entries",
        "Warm the cache by jobs/{x}.py|the warming",
        "Count hits on dashboards/{x}.json|the hit count",
    ),
    _form(
        "the export of {a}",
        "Build an export of all data of a customer of {a}, as the law wants it.",
        "One archive with JSON inside.\nIt must be ready within an hour.\nThe link dies after a week.",
        "Collect the data in gdpr/{x}.py|the collecting",
        "Pack the archive in gdpr/{x}.py|the archive",
        "Send the link by mail/{x}.py|the link",
        "Let links die by jobs/{x}.py|the death of links",
        "Log every export in gdpr/{x}.log|the log of exports",
    ),
    _form(
        "the flaky tests of {a}",
        "Get rid of the flaky tests of {a}.",
        "They fail about once in twenty runs.\nDo not just repeat them.",
        "Find the flaky ones with tools/{x}.sh|the flaky ones",
        "Freeze the clock in tests/{x}.py|the frozen clock",
        "Give each test its own port in tests/{x}.py|the ports of the tests",
        "Remove the sleeps from tests/{x}.py|the sleeps",
    ),
    _form(
        "the dark mode of {a}",
        "Add a dark mode to {a}.",
        "It follows the system unless the user chose otherwise.\nContrast must stay readable in {a}.",
        "Name the colours in styles/{x}.css|the colours",
        "Remember the choice in web/{x}.ts|the remembered choice",
        "Redraw the icons in icons/{x}.svg|the icons",
        "Check contrast by tests/{x}.spec.ts|the contrast check",
    ),
    _form(
        "the migration of {a} to Postgres",
        "Move {a} from MySQL to Postgres.",
        "We can be down for ten minutes at most.\n"
        "There must be a way back.\n"
        "Other teams read the tables of {a} at night.",
        "Translate the schema in schema/{x}.sql|the schema",
        "Copy the rows by tools/{x}.py|the copying",
        "Write to both in store/{x}.py|the writing to both",
        "Compare both by tools/{x}.py|the comparison",
        "Describe the way back in runbooks/{x}.md|the way back",
    ),
    _form(
        "the notifications of {a}",
        "Users of {a} get too many notifications: bundle them.",
        "One an hour, urgent ones at once.\nLet people switch it off in {a}.",
        "Collect events in notify/{x}.py|the collecting of events",
        "Send bundles by jobs/{x}.py|the bundles",
        "Mark urgent ones in notify/{x}.py|the urgent ones",
        "Add the switch to web/{x}.tsx|the switch",
    ),
    _form(
        "the memory of {a}",
        "The {a} daemon eats two gigabytes after a day, find out why and stop it.",
        "It began with the last release.\nA restart every night is no answer.",
        "Trace allocations with tools/{x}.py|the trace",
        "Close readers in daemon/{x}.py|the open readers",
        "Bound the queue in daemon/{x}.py|the bound of the queue",
        "Watch memory by alerts/{x}.yml|the memory alert",
    ),
    _form(
        "the plugins of {a}",
        "Let other people write plugins for {a}.",
        "A plugin is a Python package with an entry point.\n"
        "A broken one must not break {a}.\n"
        "Three examples would be good.",
        "Load plugins in plugins/{x}.py|the loading",
        "Catch faults in plugins/{x}.py|the faults of plugins",
        "Write the example in examples/{x}/|the example",
        "Document the interface in docs/{x}.md|the interface",
        "Version the interface in plugins/{x}.py|the versioning",
    ),
    _form(
        "the permissions of {a}",
        "Replace the roles of {a} by permissions for single projects.",
        "Whoever is an administrator today stays one.\nThe API of {a} returns 403 with a reason.",
        "Model permissions in access/{x}.py|the model",
        "Check permissions in access/{x}.py|the checks",
        "Convert roles by migrations/{x}.sql|the conversion of roles",
        "Show permissions on web/{x}.tsx|the page of permissions",
    ),
    _form(
        "the build of {a}",
        "The build of {a} takes forty minutes, bring it under ten.",
        "Caches are allowed, skipping tests is not.\nOnly {a}, the other builds are fine.",
        "Split the stages in ci/{x}.yml|the stages",
        "Cache wheels in ci/{x}.yml|the wheels",
        "Run tests in parallel by ci/{x}.sh|the parallel tests",
        "Drop the unused image {x}.dockerfile|the unused image",
    ),
    _form(
        "the webhooks of {a}",
        "Deliver the webhooks of {a} exactly in order, and at least once.",
        "Receivers may be away for a day.\nSign every delivery of {a}.\nShow the last hundred on a page.",
        "Order deliveries in hooks/{x}.py|the order",
        "Sign deliveries in hooks/{x}.py|the signatures",
        "Show deliveries on web/{x}.py|the page of deliveries",
        "Replay by cli/{x}.py|the replay",
    ),
    _form(
        "the translation of {a}",
        "Make {a} ready for translation, German and Japanese come first.",
        "No text is put together from pieces.\nNumbers and dates of {a} follow the language.",
        "Mark texts in templates/{x}.html|the marking",
        "Format dates in i18n/{x}.py|the dates",
        "Add German in locale/{x}-de.po|the German texts",
        "Add Japanese in locale/{x}-ja.po|the Japanese texts",
    ),
    _form(
        "the health checks of {a}",
        "Give {a} health checks that mean something.",
        "Ready only when the database answers.\nAlive as long as the loop turns.\nThey must cost nothing.",
        "Answer /ready in health/{x}.py|the check /ready",
        "Answer /live in health/{x}.py|the check /live",
        "Point the cluster to them in deploy/{x}.yml|the cluster",
        "Test a dead database in tests/test_{x}.py|the dead database",
    ),
    _form(
        "the undo of {a}",
        "Add undo and redo to the editor of {a}.",
        "Fifty steps are enough.\nTyping counts as one step until a pause.\nIt must survive a reload of {a}.",
        "Record steps in editor/{x}.ts|the recording",
        "Merge typing in editor/{x}.ts|the merging",
        "Keep the history over a reload in editor/{x}.ts|the reload",
        "Bind the shortcuts in editor/{x}.ts|the shortcuts",
    ),
    _form(
        "the statistics of {a}",
        "The figures on the {a} dashboard are wrong by up to 3 percent, correct them.",
        "Finance counts by booking date.\nWrite down in {a} how every figure is made.",
        "Count by booking date in stats/{x}.py|the booking date",
        "Leave out test orders in stats/{x}.py|the test orders",
        "Recompute old months by jobs/{x}.py|the old months",
        "Write down the definitions in docs/{x}.md|the definitions",
    ),
    _form(
        "the offline mode of {a}",
        "The {a} app must work without a network for a day.",
        "What was typed offline must never be lost.\nWhen two devices of {a} disagree, ask the user.",
        "Queue changes in app/{x}.kt|the queue of changes",
        "Send them later by app/{x}.kt|the later sending",
        "Show conflicts in app/{x}.kt|the conflicts",
        "Cut the network in tests/{x}.kt|the cut network",
    ),
    _form(
        "the parser of {a}",
        "Write a new parser for the configuration of {a}.",
        "Errors name the line and what was expected there.\n"
        "Old files of {a} must still be read.\n"
        "No regular expressions, please.",
        "Split into words in config/{x}.py|the splitting",
        "Build the tree in config/{x}.py|the tree",
        "Word the errors in config/{x}.py|the errors",
        "Read old files in config/{x}.py|the old files",
        "Feed it noise in tests/test_{x}.py|the noise",
    ),
    _form(
        "the shipping costs of {a}",
        "Compute the shipping costs of {a} by weight and zone instead of a flat rate.",
        "The table comes from the carrier every quarter.\nIslands cost more.",
        "Read the carrier's table in shipping/{x}.py|the carrier's table",
        "Compute costs in shipping/{x}.py|the costs",
        "Show them in the checkout {x}.vue|the checkout",
        "Compare with last year by tools/{x}.py|the comparison with last year",
    ),
)
