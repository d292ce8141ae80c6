-- Version 1 of the team's archive. Whoever makes it owns it; tenants are roles.

CREATE TABLE longhaul.migration(version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());

-- The tenant of this transaction: the role named by the setting, or else the user's own. Nobody is a tenant whose member he is not.
CREATE FUNCTION longhaul.tenant() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog AS $$
    SELECT rolname::text FROM pg_roles
    WHERE rolname = coalesce(nullif(current_setting('longhaul.tenant', true), ''), current_user)
        AND pg_has_role(current_user, oid, 'MEMBER')
$$;

CREATE TABLE longhaul.source(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    -- The archive that it was pushed from, and its number there.
    origin text NOT NULL,
    local bigint NOT NULL,
    machine text NOT NULL,
    agent text NOT NULL,
    session text COLLATE "C" NOT NULL,
    project text,
    path text NOT NULL,
    changed bigint NOT NULL,
    copied_at bigint NOT NULL,
    -- Says which copy was pushed, without saying what is in it.
    pushed text NOT NULL DEFAULT '',
    indexed integer NOT NULL DEFAULT 0,
    UNIQUE (tenant, origin, local),
    UNIQUE (tenant, session));

CREATE TABLE longhaul.block(
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    hash text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (tenant, hash));
-- It is compressed already.
ALTER TABLE longhaul.block ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE longhaul.source_block(
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    source bigint NOT NULL REFERENCES longhaul.source ON DELETE CASCADE,
    place integer NOT NULL,
    hash text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (source, place),
    FOREIGN KEY (tenant, hash) REFERENCES longhaul.block);
CREATE INDEX source_block_hash ON longhaul.source_block(tenant, hash);

CREATE TABLE longhaul.chain(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    source bigint NOT NULL REFERENCES longhaul.source ON DELETE CASCADE,
    name text NOT NULL,
    project text,
    title text,
    passages integer NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    messages integer NOT NULL DEFAULT 0,
    UNIQUE (source, name));

CREATE TABLE longhaul.passage(
    id bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    kind smallint NOT NULL,
    at bigint,
    length integer NOT NULL,
    is_question boolean NOT NULL,
    answers integer,
    number integer);
CREATE INDEX passage_number ON longhaul.passage(tenant, number) WHERE number IS NOT NULL;

-- Where each token stands. A text search vector with an inverted index would be shorter to write, but its operators may not
-- use an index below row-level security: only those that are declared leakproof may, and equality is.
CREATE TABLE longhaul.posting(
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    token text COLLATE "C" NOT NULL,
    chain bigint NOT NULL REFERENCES longhaul.chain ON DELETE CASCADE,
    places integer[] NOT NULL,
    PRIMARY KEY (tenant, token, chain));
CREATE INDEX posting_chain ON longhaul.posting(chain);

CREATE TABLE longhaul.frequency(
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    token text COLLATE "C" NOT NULL,
    passages bigint NOT NULL,
    PRIMARY KEY (tenant, token));

CREATE TABLE longhaul.total(
    tenant text COLLATE "C" PRIMARY KEY DEFAULT longhaul.tenant(),
    passages bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    -- The version of the rules by which texts were split into tokens.
    tokens integer NOT NULL);

-- What was deleted here is not pushed again.
CREATE TABLE longhaul.deleted(
    tenant text COLLATE "C" NOT NULL DEFAULT longhaul.tenant(),
    origin text NOT NULL,
    local bigint NOT NULL,
    PRIMARY KEY (tenant, origin, local));

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['source', 'block', 'source_block', 'chain', 'passage', 'posting', 'frequency', 'total', 'deleted'] LOOP
        EXECUTE format('ALTER TABLE longhaul.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE longhaul.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY tenants ON longhaul.%I USING (tenant = (SELECT longhaul.tenant())) WITH CHECK (tenant = (SELECT longhaul.tenant()))',
            name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON longhaul.%I TO PUBLIC', name);
    END LOOP;
END
$$;
GRANT SELECT ON longhaul.migration TO PUBLIC;
GRANT USAGE ON SCHEMA longhaul TO PUBLIC;
