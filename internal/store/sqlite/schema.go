package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// applicationID marks a database file as Pintle's in its header: "Pntl".
const applicationID = 0x506e746c

// migrations build up the schema, each on top of the previous one. Never change a released migration; only add new
// ones.
//
// The tables that loops and lists read are narrow. Large data that seldom changes is in separate tables, under the same
// integer key, so that a change of state does not write it again. The indexes that loops read leave out settled,
// deleted and gone rows. The CHECKs reject rows that only an error in the engine could write.
var migrations = []string{
	`
CREATE TABLE schema (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL,
	probe   TEXT NOT NULL,    -- sealed, to know the keys by
	pinged  INTEGER NOT NULL
) STRICT;
INSERT INTO schema VALUES (1, 0, '', 0);

CREATE TABLE stack (
	key     INTEGER PRIMARY KEY CHECK (key > 0),
	id      TEXT NOT NULL UNIQUE,
	account TEXT NOT NULL,
	region  TEXT NOT NULL,
	name    TEXT NOT NULL,
	live    INTEGER NOT NULL CHECK (live IN (0, 1)),
	created INTEGER NOT NULL, -- all times are Unix milliseconds
	plain   TEXT NOT NULL,
	vals    TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX stack_name ON stack (account, region, name) WHERE live = 1;
CREATE INDEX stack_age ON stack (account, region, created, key);

CREATE TABLE template (
	seq  INTEGER PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of text
	text BLOB NOT NULL
) STRICT;

CREATE TABLE revision (
	seq      INTEGER PRIMARY KEY,
	stack    INTEGER NOT NULL,
	number   INTEGER NOT NULL CHECK (number > 0),
	template INTEGER NOT NULL,
	plain    TEXT NOT NULL,
	vals     TEXT NOT NULL,
	UNIQUE (stack, number)
) STRICT;

CREATE TABLE operation (
	seq     INTEGER PRIMARY KEY,
	stack   INTEGER NOT NULL,
	number  INTEGER NOT NULL CHECK (number > 0),
	version INTEGER NOT NULL,
	plain   TEXT NOT NULL,
	UNIQUE (stack, number)
) STRICT;

CREATE TABLE step (
	seq     INTEGER PRIMARY KEY,
	stack   INTEGER NOT NULL,
	logical TEXT NOT NULL,
	plain   TEXT NOT NULL,
	UNIQUE (stack, logical)
) STRICT;
CREATE TABLE step_plan (
	seq   INTEGER PRIMARY KEY,
	plain TEXT NOT NULL
) STRICT;

CREATE TABLE instance (
	seq     INTEGER PRIMARY KEY,
	stack   INTEGER NOT NULL,
	number  INTEGER NOT NULL CHECK (number > 0),
	logical TEXT NOT NULL CHECK (logical <> ''),
	role    TEXT NOT NULL CHECK (role IN ('current', 'condemned', 'orphan', 'retained', 'gone')),
	plain   TEXT NOT NULL,
	UNIQUE (stack, number)
) STRICT;
CREATE INDEX instance_there ON instance (stack, logical) WHERE role <> 'gone';
CREATE TABLE instance_body (
	seq   INTEGER PRIMARY KEY,
	plain TEXT NOT NULL,
	vals  TEXT NOT NULL
) STRICT;

CREATE TABLE request (
	seq       INTEGER PRIMARY KEY, -- by age
	id        TEXT NOT NULL UNIQUE,
	stack     INTEGER NOT NULL,
	operation INTEGER NOT NULL,
	logical   TEXT NOT NULL,
	instance  INTEGER NOT NULL,
	type      TEXT NOT NULL,
	state     TEXT NOT NULL,
	owner     INTEGER NOT NULL,
	executor  INTEGER NOT NULL,
	due       INTEGER,
	plain     TEXT NOT NULL,
	CHECK (
		state = 'ready' AND owner <> 0 AND executor = 0 AND due IS NULL OR
		state = 'waiting' AND owner = 0 AND due IS NOT NULL OR
		state = 'delayed' AND owner = 0 AND executor = 0 AND due IS NOT NULL OR
		state = 'settled' AND owner = 0 AND executor = 0 AND due IS NULL)
) STRICT;
CREATE INDEX request_open ON request (stack, logical) WHERE state <> 'settled';
CREATE INDEX request_ready ON request (owner, stack, seq) WHERE state = 'ready';
CREATE INDEX request_executor ON request (executor) WHERE executor <> 0;
CREATE INDEX request_due ON request (due) WHERE due IS NOT NULL;
CREATE TABLE request_body (
	seq   INTEGER PRIMARY KEY,
	plain TEXT NOT NULL,
	vals  TEXT NOT NULL
) STRICT;

CREATE TABLE event (
	seq       INTEGER PRIMARY KEY,
	stack     INTEGER NOT NULL,
	operation INTEGER NOT NULL,
	number    INTEGER NOT NULL CHECK (number > 0),
	events    TEXT NOT NULL,
	UNIQUE (stack, operation, number)
) STRICT;

CREATE TABLE audit (
	seq   INTEGER PRIMARY KEY,
	stack INTEGER NOT NULL,
	entry TEXT NOT NULL
) STRICT;
CREATE INDEX audit_stack ON audit (stack, seq);

CREATE TABLE provider (
	name       TEXT PRIMARY KEY,
	definition BLOB NOT NULL
) STRICT;

CREATE TABLE node (
	id     INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
	name   TEXT NOT NULL,
	joined INTEGER NOT NULL,
	beat   INTEGER NOT NULL
) STRICT;
`,
	// Operations by the IDs that clients use. A row is written once per operation; an index on the operation's row
	// would be written with every answer.
	`
CREATE TABLE operation_id (
	id     TEXT PRIMARY KEY,
	stack  INTEGER NOT NULL,
	number INTEGER NOT NULL CHECK (number > 0)
) STRICT, WITHOUT ROWID;
INSERT INTO operation_id SELECT json_extract(plain, '$.id'), stack, number FROM operation
	WHERE json_extract(plain, '$.id') <> '' ORDER BY seq ON CONFLICT (id) DO NOTHING;
INSERT INTO operation_id SELECT json_extract(plain, '$.rollbackID'), stack, number FROM operation
	WHERE json_extract(plain, '$.rollbackID') <> '' ORDER BY seq ON CONFLICT (id) DO NOTHING;
`,
	`
CREATE TABLE change_set (
	seq   INTEGER PRIMARY KEY, -- by age
	id    TEXT NOT NULL UNIQUE,
	stack INTEGER NOT NULL,
	name  TEXT NOT NULL CHECK (name <> ''),
	plain TEXT NOT NULL,
	UNIQUE (stack, name)
) STRICT;
CREATE TABLE change_set_body (
	seq      INTEGER PRIMARY KEY,
	template INTEGER NOT NULL,
	plain    TEXT NOT NULL,
	vals     TEXT NOT NULL
) STRICT;
`,
	// The keys that rows may be sealed with, the root that outlives them, and data for sweeps.
	`
CREATE TABLE sealing_key (
	id    TEXT PRIMARY KEY,
	probe TEXT NOT NULL,   -- sealed with it, to know it by
	since INTEGER NOT NULL
) STRICT;
ALTER TABLE schema ADD COLUMN root TEXT NOT NULL DEFAULT ''; -- sealed
CREATE INDEX revision_template ON revision (template);
CREATE INDEX change_set_template ON change_set_body (template);
CREATE INDEX operation_id_of ON operation_id (stack, number);
CREATE TABLE remains (
	stack INTEGER PRIMARY KEY -- was swept: its rows are still to go
) STRICT;
`,
	// Exports, whose values are outputs of their stacks, and their importers. If two stacks exported the same name
	// before this migration, the older one keeps it. A stack that is being deleted exports nothing.
	`
CREATE TABLE export (
	account TEXT NOT NULL,
	region  TEXT NOT NULL,
	name    TEXT NOT NULL CHECK (name <> ''),
	stack   INTEGER NOT NULL,
	output  TEXT NOT NULL CHECK (output <> ''),
	PRIMARY KEY (account, region, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX export_stack ON export (stack);
CREATE TABLE import (
	account TEXT NOT NULL,
	region  TEXT NOT NULL,
	name    TEXT NOT NULL,
	stack   INTEGER NOT NULL,
	PRIMARY KEY (account, region, name, stack)
) STRICT, WITHOUT ROWID;
CREATE INDEX import_stack ON import (stack);
INSERT INTO export (account, region, name, stack, output)
	SELECT s.account, s.region, json_extract(o.value, '$.exportName'), s.key, json_extract(o.value, '$.key')
	FROM stack s, json_each(s.plain, '$.outputs') o
	WHERE s.live = 1 AND json_extract(s.plain, '$.kind') <> 'delete' AND json_extract(o.value, '$.exportName') <> ''
	ORDER BY s.created, s.key, o.key ON CONFLICT DO NOTHING;
`,
	// The parameter store. A key is account, region and name in one text; the key of a version ends in its number.
	`
CREATE TABLE parameter (
	id      TEXT PRIMARY KEY,
	version INTEGER NOT NULL CHECK (version > 0) -- the newest
) STRICT;
CREATE TABLE parameter_version (
	id   TEXT PRIMARY KEY,
	body BLOB NOT NULL -- sealed
) STRICT;
`,
	// The holder of a provider's name.
	`ALTER TABLE provider ADD COLUMN holder TEXT NOT NULL DEFAULT '';
`,
	// The resources outside the stacks. A key is account, region, kind and name in one text.
	`
CREATE TABLE entry (
	id      TEXT PRIMARY KEY,
	version INTEGER NOT NULL CHECK (version > 0),
	body    BLOB NOT NULL -- sealed
) STRICT;
`,
	// Executions by machine.
	`CREATE INDEX request_machine ON request (logical, seq) WHERE type = 'Execution';
`,
	// An index to count orphans, which are few.
	`CREATE INDEX instance_orphan ON instance (stack) WHERE role = 'orphan';
`,
	// Orphaned and retained resources across all stacks.
	`CREATE INDEX instance_left ON instance (stack, number) WHERE role IN ('orphan', 'retained');
`,
}

// migrate brings the database to the newest schema in steps, each in its own transaction: a crash leaves one of the
// schemas and the next start continues from it. It rejects a newer database, and one that is not Pintle's.
func migrate(ctx context.Context, conn *sql.Conn, steps []string) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("its schema is %d, and this version of Pintle knows those up to %d: use the version that wrote it, or a newer one", version, len(steps))
	}
	for ; version < len(steps); version++ {
		if err := migrateOne(ctx, conn, steps[version], version+1); err != nil {
			_, undo := conn.ExecContext(ctx, "ROLLBACK")
			return errors.Join(fmt.Errorf("migrate to schema %d: %w", version+1, err), undo)
		}
	}
	return nil
}

// migrateOne leaves its transaction open when it fails.
func migrateOne(ctx context.Context, conn *sql.Conn, script string, version int) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, script); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "UPDATE schema SET version = ?", version); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA application_id = "+strconv.Itoa(applicationID)); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// schemaVersion returns 0 for an empty database.
func schemaVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var app, tables, version int
	err := conn.QueryRowContext(ctx, "SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id").Scan(&app, &tables)
	switch {
	case err != nil:
		return 0, err
	case tables == 0 && app == 0:
		return 0, nil
	case app != applicationID:
		return 0, errors.New("it is the database of another program: name a file of Pintle's, or one that is not there yet")
	}
	err = conn.QueryRowContext(ctx, "SELECT version FROM schema").Scan(&version)
	return version, err
}
