-- The two tables that a backfill reads, as an installation has them.
CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    name text,
    parent_id uuid REFERENCES workspaces,
    status text
);
CREATE TABLE agent_memories (
    id uuid PRIMARY KEY,
    workspace_id uuid REFERENCES workspaces,
    content text,
    scope varchar,
    created_at timestamptz,
    updated_at timestamptz
);
