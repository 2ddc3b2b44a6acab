-- What the image runs once, in a new volume, as its superuser: the nodes log in as a role that owns
-- their database and nothing else.
\set password `cat /run/secrets/postgres.password`
CREATE ROLE doorkeeper LOGIN PASSWORD :'password';
CREATE DATABASE doorkeeper OWNER doorkeeper;
REVOKE ALL ON DATABASE doorkeeper FROM PUBLIC;
