#!/bin/sh
# Run once by the image of Postgres, in an empty database: the roles of deploy/roles.sql, with their passwords.
set -eu
psql -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$POSTGRES_DB" -f "${SEGUE_ROLES:-/segue/roles.sql}"
for role in segue_owner segue_writer; do
    psql -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d "$POSTGRES_DB" \
        -v role="$role" -v password="$(cat "${SEGUE_SECRETS:-/run/secrets}/$role")" <<'SQL'
ALTER ROLE :"role" PASSWORD :'password';
SQL
done
