/** Allows payloads in object storage (`Objects`): their rows have a reference instead of the bytes. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // 4 and above: the same encodings in object storage. Existing rows satisfy the check and are not scanned.
  `alter table grp drop constraint grp_encoding_known`,
  `alter table grp add constraint grp_encoding_known check (encoding between 0 and 7) not valid`,
  // Size of the payload in its storage; a reference ends with it in its last eight bytes.
  `create function stored_bytes(encoding smallint, payload bytea) returns bigint language sql immutable strict parallel safe
    as $$ select case when encoding < 4 then octet_length(payload)::bigint
      else ('x' || encode(substring(payload from 37 for 8), 'hex'))::bit(64)::bigint end $$`,
  `create index grp_object on grp (substring(payload for 36)) where encoding > 3`,
  `create table object_home (
    id smallint primary key,
    home uuid not null,
    constraint object_home_is_one check (id = 1)
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
