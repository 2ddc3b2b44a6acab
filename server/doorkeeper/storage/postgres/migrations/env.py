"""What alembic runs to turn migrations into SQL. It never connects: ``migrating`` does."""

from alembic import context

from doorkeeper.storage.postgres.schema import SCHEMA

context.configure(
    dialect_name="postgresql",
    dialect_opts={"paramstyle": "named"},  # else each percent sign would be doubled
    literal_binds=True,
    transactional_ddl=False,  # the caller's transaction holds all of it
    version_table_schema=SCHEMA,
)
with context.begin_transaction():
    context.run_migrations()
