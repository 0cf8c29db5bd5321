/** Answers of the original's endpoints, as far as our clients read them. */
import { Schema } from "effect"

export const Info = Schema.Struct({ batch_size: Schema.Int, max_token_len: Schema.Int })
export const WandbInfo = Schema.Struct({ group: Schema.NullOr(Schema.String), project: Schema.NullOr(Schema.String) })
export const Status = Schema.Struct({ current_step: Schema.Int, queue_size: Schema.Int })
export const EnvironmentStatus = Schema.Struct({
  current_step: Schema.Int,
  queue_size: Schema.Int,
  unallocated_fraction: Schema.optionalKey(Schema.Finite),
  self_queue_size: Schema.optionalKey(Schema.Int),
  max_group_size: Schema.optionalKey(Schema.Int),
  env_weight: Schema.Finite
})
const Registered = Schema.Struct({
  status: Schema.Literal("success"),
  env_id: Schema.Int,
  wandb_name: Schema.String,
  checkpoint_dir: Schema.String,
  starting_step: Schema.Int,
  checkpoint_interval: Schema.Int,
  num_steps: Schema.Int
})
export const Registration = Schema.Union([Registered, Schema.Struct({ status: Schema.String })])
export const Done = Schema.Struct({ status: Schema.String, error: Schema.optionalKey(Schema.String) })
export const Received = Schema.Struct({ status: Schema.String, buffer_size: Schema.optionalKey(Schema.Int) })
export const ListReceived = Schema.Struct({
  groups_processed: Schema.Int,
  buffered: Schema.optionalKey(Schema.Int),
  last_buffer_size: Schema.optionalKey(Schema.Int)
})
export const Batch = Schema.Struct({
  batch: Schema.NullOr(Schema.Array(Schema.Unknown)),
  status: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String)
})

export const isRegistered = Schema.is(Registered)
