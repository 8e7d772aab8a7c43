"""The pytest ring: which hook lives where.

=============  =====================================================================
module         hooks and what they do
=============  =====================================================================
options        declares and resolves every ``--nel-*`` option and ini
state          the run's state in ``config.stash``
session        registers the rest when a run needs it; run directory, engine, services
collect        suite files and ``@benchmark`` values → items
item           ``AttemptItem``
protocol       the short runtest protocol for items between siblings
outcome        record → report: outcome, letter, text
fixtures       ``nel_solver``, ``nel_model``
finish         engine down, bundles, checks, exit status
terminal       header, live progress, summary
junit          suite-level properties
xdist          shards: scheduler, hand-over to workers and back
=============  =====================================================================
"""
