CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    parent_id uuid REFERENCES workspaces,
    status text NOT NULL DEFAULT 'active'
);

CREATE TABLE agent_memories (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL REFERENCES workspaces,
    content text NOT NULL,
    scope varchar NOT NULL,
    namespace varchar(50),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
