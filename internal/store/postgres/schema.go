package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// schemaTable has one row with the version of the schema. The first node that increments it runs the next migration.
const schemaTable = `CREATE TABLE IF NOT EXISTS schema (
	one     int PRIMARY KEY CHECK (one = 1),
	version int NOT NULL,
	probe   text NOT NULL -- sealed, to know the keys by
)`

// migrations build up the schema, each on top of the previous one. Never change a released migration; only add new
// ones. None may alter the table schema, because nodes that wait to run the same migration hold it.
//
// The tables that loops and lists read are narrow. Large data that seldom changes is in separate tables, so that a
// change of state does not write it again. The indexes that loops read leave out settled, deleted and gone rows. The
// column plain holds JSON. Its type is bytea because the type text of PostgreSQL cannot hold all of JSON (psql:
// convert_from(plain, 'UTF8')). The columns next and needs repeat data of plain, so that one statement can find all the
// rows that the answer to a request concerns. The CHECKs reject rows that only an error in the engine could write. All
// times are Unix milliseconds.
var migrations = []string{
	`
CREATE TABLE stack (
	key     bigint PRIMARY KEY CHECK (key > 0),
	id      text COLLATE "C" NOT NULL UNIQUE,
	account text COLLATE "C" NOT NULL,
	region  text COLLATE "C" NOT NULL,
	name    text COLLATE "C" NOT NULL,
	live    boolean NOT NULL,
	created bigint NOT NULL
);
CREATE UNIQUE INDEX stack_name ON stack (account, region, name) WHERE live;
CREATE INDEX stack_age ON stack (account, region, created, key);
CREATE TABLE stack_body (
	key   bigint PRIMARY KEY,
	plain bytea NOT NULL,
	vals  bytea NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE template (
	hash bytea PRIMARY KEY CHECK (length(hash) = 32), -- SHA-256 of text
	text bytea NOT NULL
);

CREATE TABLE revision (
	stack    bigint NOT NULL,
	number   int NOT NULL CHECK (number > 0),
	template bytea NOT NULL,
	plain    bytea NOT NULL,
	vals     bytea NOT NULL,
	PRIMARY KEY (stack, number)
);

CREATE TABLE operation (
	stack   bigint NOT NULL,
	number  int NOT NULL CHECK (number > 0),
	version bigint NOT NULL,
	plain   bytea NOT NULL,
	PRIMARY KEY (stack, number)
) WITH (fillfactor = 50);

CREATE TABLE operation_id ( -- operations by the ids that clients know them by
	id     text COLLATE "C" PRIMARY KEY,
	stack  bigint NOT NULL,
	number int NOT NULL CHECK (number > 0)
);

CREATE TABLE step (
	stack   bigint NOT NULL,
	logical text COLLATE "C" NOT NULL,
	next    text[] COLLATE "C" NOT NULL,
	plain   bytea NOT NULL,
	PRIMARY KEY (stack, logical)
) WITH (fillfactor = 70);
CREATE TABLE step_plan (
	stack   bigint NOT NULL,
	logical text COLLATE "C" NOT NULL,
	needs   text[] COLLATE "C" NOT NULL,
	plain   bytea NOT NULL,
	PRIMARY KEY (stack, logical)
);

CREATE TABLE instance (
	stack   bigint NOT NULL,
	number  int NOT NULL CHECK (number > 0),
	logical text COLLATE "C" NOT NULL CHECK (logical <> ''),
	role    text COLLATE "C" NOT NULL CHECK (role IN ('current', 'condemned', 'orphan', 'retained', 'gone')),
	plain   bytea NOT NULL,
	PRIMARY KEY (stack, number)
) WITH (fillfactor = 70);
CREATE INDEX instance_there ON instance (stack, logical) WHERE role <> 'gone';
CREATE TABLE instance_body (
	stack  bigint NOT NULL,
	number int NOT NULL,
	plain  bytea NOT NULL,
	vals   bytea NOT NULL,
	PRIMARY KEY (stack, number)
);

CREATE TABLE request (
	id        text COLLATE "C" PRIMARY KEY,
	stack     bigint NOT NULL,
	operation int NOT NULL,
	logical   text COLLATE "C" NOT NULL,
	instance  int NOT NULL,
	type      text COLLATE "C" NOT NULL,
	state     text COLLATE "C" NOT NULL,
	owner     bigint NOT NULL,
	executor  bigint NOT NULL,
	due       bigint,
	born      bigint NOT NULL,
	plain     bytea NOT NULL,
	CHECK (
		state = 'ready' AND owner <> 0 AND executor = 0 AND due IS NULL OR
		state = 'waiting' AND owner = 0 AND due IS NOT NULL OR
		state = 'delayed' AND owner = 0 AND executor = 0 AND due IS NOT NULL OR
		state = 'settled' AND owner = 0 AND executor = 0 AND due IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX request_open ON request (stack, logical) WHERE state <> 'settled';
CREATE INDEX request_ready ON request (owner, stack, born, id) WHERE state = 'ready';
CREATE INDEX request_executor ON request (executor) WHERE executor <> 0;
CREATE INDEX request_due ON request (due, born, id) WHERE due IS NOT NULL;
CREATE TABLE request_body (
	id    text COLLATE "C" PRIMARY KEY,
	plain bytea NOT NULL,
	vals  bytea NOT NULL
);

CREATE TABLE change_set (
	id     text COLLATE "C" PRIMARY KEY,
	stack  bigint NOT NULL,
	number bigint NOT NULL, -- by age
	name   text COLLATE "C" NOT NULL CHECK (name <> ''),
	plain  bytea NOT NULL,
	UNIQUE (stack, number),
	UNIQUE (stack, name)
);
CREATE TABLE change_set_body (
	id       text COLLATE "C" PRIMARY KEY,
	template bytea NOT NULL,
	plain    bytea NOT NULL,
	vals     bytea NOT NULL
);

CREATE TABLE event (
	stack     bigint NOT NULL,
	operation int NOT NULL,
	number    int NOT NULL CHECK (number > 0),
	events    bytea NOT NULL,
	PRIMARY KEY (stack, operation, number)
);

CREATE TABLE audit (
	stack  bigint NOT NULL,
	number bigint NOT NULL,
	entry  bytea NOT NULL,
	PRIMARY KEY (stack, number)
);

CREATE TABLE provider (
	name       text COLLATE "C" PRIMARY KEY,
	definition bytea NOT NULL
);

CREATE TABLE node (
	id     bigint PRIMARY KEY, -- random: never given twice
	name   text NOT NULL,
	joined bigint NOT NULL,
	beat   bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE writer (
	id    bigint PRIMARY KEY,
	batch bigint NOT NULL, -- the last that was committed
	at    bigint NOT NULL
) WITH (fillfactor = 50);
`,
	// The keys that rows may be sealed with, the root that outlives them, and data for sweeps.
	`
CREATE TABLE sealing_key (
	id    text COLLATE "C" PRIMARY KEY,
	probe text NOT NULL, -- sealed with it, to know it by
	since bigint NOT NULL
);
CREATE TABLE ring (
	one    int PRIMARY KEY CHECK (one = 1),
	root   text NOT NULL,  -- sealed
	sealer text NOT NULL,  -- the key of the node that joined last
	turns  bigint NOT NULL -- how often that has changed
);
INSERT INTO ring VALUES (1, '', '', 0);
ALTER TABLE node ADD COLUMN seals text NOT NULL DEFAULT ''; -- the key that it seals with
CREATE INDEX revision_template ON revision (template);
CREATE INDEX change_set_template ON change_set_body (template);
CREATE INDEX operation_id_of ON operation_id (stack, number);
CREATE TABLE remains (
	stack bigint PRIMARY KEY -- was swept: its rows are still to go
);
`,
	// Exports, whose values are outputs of their stacks, and their importers. If two stacks exported the same name
	// before this migration, the older one keeps it. A stack that is being deleted exports nothing.
	`
CREATE TABLE export (
	account text COLLATE "C" NOT NULL,
	region  text COLLATE "C" NOT NULL,
	name    text COLLATE "C" NOT NULL CHECK (name <> ''),
	stack   bigint NOT NULL,
	output  text COLLATE "C" NOT NULL CHECK (output <> ''),
	number  bigint NOT NULL,           -- another one whenever who exports it, or the value, is another one
	uses    bigint NOT NULL DEFAULT 0, -- how many imports of it have begun
	PRIMARY KEY (account, region, name)
) WITH (fillfactor = 70);
CREATE INDEX export_stack ON export (stack);
CREATE TABLE import (
	account text COLLATE "C" NOT NULL,
	region  text COLLATE "C" NOT NULL,
	name    text COLLATE "C" NOT NULL,
	stack   bigint NOT NULL,
	PRIMARY KEY (account, region, name, stack)
);
CREATE INDEX import_stack ON import (stack);
-- PostgreSQL reads no JSON that says NUL, which names do not have but reasons may: it becomes a character that stands for it.
INSERT INTO export (account, region, name, stack, output, number)
	SELECT b.account, b.region, o.value ->> 'exportName', b.key, o.value ->> 'key', 1
	FROM (SELECT s.*, replace(replace(convert_from(b.plain, 'UTF8'), E'\\\\', E'\\u005c'), E'\\u0000', chr(65533))::json AS plain
			FROM stack s JOIN stack_body b ON b.key = s.key WHERE s.live) b,
		json_array_elements(b.plain -> 'outputs') WITH ORDINALITY o (value, place)
	WHERE b.plain ->> 'kind' <> 'delete' AND o.value ->> 'exportName' <> '' AND position(chr(65533) IN o.value ->> 'exportName') = 0
	ORDER BY b.created, b.key, o.place ON CONFLICT DO NOTHING;
`,
	// The parameter store. A key is account, region and name in one text; the key of a version ends in its number.
	`
CREATE TABLE parameter (
	id      text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL CHECK (version > 0) -- the newest
);
CREATE TABLE parameter_version (
	id   text COLLATE "C" PRIMARY KEY,
	body bytea NOT NULL -- sealed
);
`,
	// The holder of a provider's name.
	`ALTER TABLE provider ADD COLUMN holder text COLLATE "C" NOT NULL DEFAULT '';
`,
	// The resources outside the stacks. A key is account, region, kind and name in one text.
	`
CREATE TABLE entry (
	id      text COLLATE "C" PRIMARY KEY,
	version bigint NOT NULL CHECK (version > 0),
	body    bytea NOT NULL -- sealed
);
`,
	// Executions by machine.
	`CREATE INDEX request_machine ON request (logical, born, id) WHERE type = 'Execution';
`,
	// An index to count orphans, which are few.
	`CREATE INDEX instance_orphan ON instance (stack) WHERE role = 'orphan';
`,
	// Orphaned and retained resources, and audit entries by age, across all stacks. Entries from before this migration
	// count as the oldest.
	`
CREATE INDEX instance_left ON instance (stack, number) WHERE role IN ('orphan', 'retained');
ALTER TABLE audit ADD COLUMN at bigint NOT NULL DEFAULT 0;
CREATE INDEX audit_age ON audit (at, stack, number);
`,
	// The last transaction that changed a stack, and which nodes record it.
	`
ALTER TABLE stack ADD COLUMN turn bigint NOT NULL DEFAULT 0;
ALTER TABLE stack SET (fillfactor = 50);
ALTER TABLE node ADD COLUMN turns boolean NOT NULL DEFAULT false;
CREATE INDEX node_turns ON node (id) WHERE NOT turns;
`,
}

// migrate brings the database to the newest schema in steps, each in its own transaction: a crash leaves one of the
// schemas and the next start continues from it. If several nodes migrate at once, one makes each step, while the others
// wait for the row. It rejects a newer database.
func migrate(ctx context.Context, conn *pgx.Conn, schema string, steps []string) error {
	// A migration, or the wait for that of another node, has no time limit.
	if _, err := conn.Exec(ctx, "SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)"); err != nil {
		return err
	}
	if err := found(ctx, conn, schema); err != nil {
		return err
	}
	for {
		version, err := schemaVersion(ctx, conn)
		if err != nil {
			return err
		}
		if version > len(steps) {
			return fmt.Errorf("its schema is %d, and this version of Pintle knows those up to %d: use the version that wrote it, or a newer one", version, len(steps))
		}
		if version == len(steps) {
			return nil
		}
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			moved, err := tx.Exec(ctx, "UPDATE schema SET version = $1 WHERE version = $2", version+1, version)
			if err != nil || moved.RowsAffected() == 0 { // another node has made it
				return err
			}
			_, err = tx.Exec(ctx, steps[version], pgx.QueryExecModeSimpleProtocol)
			return err
		})
		if err != nil {
			return fmt.Errorf("migrate to schema %d: %w", version+1, err)
		}
	}
}

// found creates the schema and its table of one row, if they are missing.
func found(ctx context.Context, conn *pgx.Conn, schema string) error {
	version, err := schemaVersion(ctx, conn)
	if err != nil || version > 0 {
		return err
	}
	statements := []string{schemaTable, "INSERT INTO schema VALUES (1, 0, '') ON CONFLICT DO NOTHING"}
	if schema == defaultSchema {
		statements = append([]string{"CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{schema}.Sanitize()}, statements...)
	}
	for _, statement := range statements {
		for tries := 0; ; tries++ {
			_, err := conn.Exec(ctx, statement)
			// IF NOT EXISTS checks first and creates then: a second node in between gets an error from the catalogue's
			// own indexes.
			if known := new(pgconn.PgError); err != nil && tries < 10 && errors.As(err, &known) &&
				(known.Code == "23505" || known.Code == "42P07" || known.Code == "42P06" || known.Code == "42710") {
				continue
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// schemaVersion returns 0 for a database without a schema.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('schema') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT version FROM schema").Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return version, err
}
