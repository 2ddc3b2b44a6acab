"""The jobs that make tables out of tables.

request    the request of a run, the options that stay with its tables, its results
seen       what the last run saw: where nothing is new, its tables stay
inputs     which inputs are new, how they are read, and their manifest
read       files to bronze: the decisions of each input file, and its unreadable parts
topics     the ranges of topics that a run reads
belonging  inputs that must not be together in a folder are refused; the cluster of a run
copies     decisions of several files, each counted once
merged     small files of lines that become few
silver     bronze to decisions, partitioned by day
sums       distinct decisions of spans and of the whole history, kept, and news added to them
succession ACL sets and change logs to bindings, with when each came and went
gold       the list of the jobs that make gold tables, and their input
gold_tables
           which of them run, and what becomes of their tables
asking     questions to the distinct decisions, several in one pass
changed    gold tables that need no evaluation: drift and new_access
grants, denied, least_privilege
           gold tables by the evaluator
clients    what each principal asks for as a member of groups
agreement  recorded outcomes beside recomputed ones
broker_logs
           which files are of which broker, and its days
causes     the table findings: what is to be decided or safe to do, from run to run
findings   the same in groups, ranked, for summary and report
observed   how long a history is, its names and principals, requests that lack a line; whether the
           evidence is enough
propose    a narrower set of ACLs instead of the one in force: the command ``propose``
backtest   decisions that another set of ACLs would turn: the command ``backtest``
why        the verdicts about some grants, with facts and examples: the command ``why``
run        all of it in one go: the command ``run``
maintain   old days and forgotten names leave the tables: the command ``maintain``
forgotten  what a forgotten name means for the evidence about grants

A gold job is a function ``job(asked: GoldInput) -> dict[str, pl.DataFrame]``: the names of the gold
tables that it makes, and their rows. It stands in ``gold.GOLD_JOBS`` in the order in which the jobs
run, with the inputs on which its tables depend: where none of these changed it does not run. It
knows no Spark: large work are questions to the distinct decisions (``asked.answer``,
``asked.ask``), with functions that can be imported by name.
"""
