/** Creates a run before a trainer registers it. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type * as Rows from "./Rows.ts"

/** The new run; undefined if there is one of this name. */
export const create = (
  sql: SqlClient.SqlClient,
  name: string,
  now: Date
): Effect.Effect<Rows.RunJson | undefined, SqlError> =>
  Effect.map(
    sql<{ run: Rows.RunJson }>`
    insert into run (
      name, created_at, is_registered, batch_size, max_token_length, starting_step, num_steps, checkpoint_dir,
      save_checkpoint_interval, wandb_group, wandb_project
    ) values (${name}, ${now}, false, -1, -1, 0, -1, '', -1, '', '')
    on conflict (name) where ended_at is null do nothing
    returning to_json(run) as run`,
    ([row]) => row?.run
  )
