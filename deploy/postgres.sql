-- psql "host=db.example.com dbname=postgres user=…" --file deploy/postgres.sql \
--   --set password="$(openssl rand -hex 24)"
--
-- As a superuser, or as a role that may make roles and databases.
--
-- A role and a database for one service. The role owns its schema and nothing
-- else: it makes its tables at the first start, and adds to them at an update.
\set ON_ERROR_STOP on
-- In a container, as deploy/compose.postgres.yaml starts it.
\if :{?password}
\else
  \getenv password POSTGRES_PASSWORD
\endif
create role tool_server login noinherit connection limit 100 password :'password';
-- A commit that hangs would hold up those behind it: the server has given up on
-- it after five seconds.
alter role tool_server set statement_timeout = '4500ms';
alter role tool_server set idle_in_transaction_session_timeout = '10s';
create database tool_server encoding 'UTF8' template template0;
revoke all on database tool_server from public;
grant connect on database tool_server to tool_server;
\connect tool_server
revoke all on schema public from public;
-- An administrator who is no superuser must be a member of the owner.
grant tool_server to current_user;
create schema tool_server authorization tool_server;
revoke tool_server from current_user;
