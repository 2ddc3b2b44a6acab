#!/bin/sh
# What the entry point of PostgreSQL's image does for the stack, and no more: a new volume gets a
# cluster, its superuser's password, and the scripts of /docker-entrypoint-initdb.d, over the socket.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export PGPASSWORD
    # shellcheck disable=SC2086  # several arguments
    initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS
    pg_ctl -w -o "-c listen_addresses= -c unix_socket_directories=/run/postgresql" start
    for script in /docker-entrypoint-initdb.d/*.sql; do
        psql -v ON_ERROR_STOP=1 --no-psqlrc -h /run/postgresql -U "$POSTGRES_USER" -d postgres -f "$script"
    done
    pg_ctl -w -m fast stop
    unset PGPASSWORD
fi
exec "$@"
