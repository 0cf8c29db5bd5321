/**
 * The original's endpoints for the OpenAPI document: they are not part of our definition, because they parse and answer
 * like the original instead of by a schema. docs/protocol.md has all their rules.
 */

interface Schema {
  readonly [key: string]: unknown
}

const text: Schema = { type: "string" }
const integer: Schema = { type: "integer" }
const number: Schema = { type: "number" }
const listOf = (items: Schema): Schema => ({ type: "array", items })
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] })

const object = (properties: { readonly [key: string]: Schema }, optional: ReadonlyArray<string> = []): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((key) => !optional.includes(key))
})

const rows = listOf(listOf(number))
const status = object({ status: text })
const id = object({ env_id: integer })

const needed = {
  tokens: listOf(listOf(integer)),
  masks: listOf(listOf(integer)),
  scores: listOf(number)
}
const optional = {
  advantages: orNull(rows),
  ref_logprobs: orNull(rows),
  messages: orNull(listOf({})),
  generation_params: orNull({ type: "object" }),
  inference_logprobs: orNull(rows),
  overrides: orNull(listOf({})),
  group_overrides: orNull({ type: "object" }),
  images: orNull({}),
  env_id: orNull(integer),
  distill_token_ids: orNull(listOf(listOf(listOf(integer)))),
  distill_logprobs: orNull(listOf(rows))
}
const group = object({ ...needed, ...optional }, Object.keys(optional))

const registration = object({
  wandb_group: text,
  wandb_project: text,
  batch_size: integer,
  max_token_len: integer,
  checkpoint_dir: text,
  save_checkpoint_interval: integer,
  starting_step: integer,
  num_steps: integer
})

const environment = object(
  {
    max_token_length: integer,
    desired_name: text,
    weight: number,
    group_size: integer,
    min_batch_allocation: orNull(number)
  },
  ["min_batch_allocation"]
)

const queue = { current_step: integer, queue_size: integer }
const environmentStatus = object({
  ...queue,
  unallocated_fraction: number,
  self_queue_size: integer,
  max_group_size: integer,
  env_weight: number
})

const content = (schema: Schema) => ({ "application/json": { schema } })

const operation = (
  summary: string,
  answer: Schema,
  { body, parameters }: { readonly body?: Schema; readonly parameters?: ReadonlyArray<Schema> } = {}
) => ({
  tags: ["the original's endpoints"],
  summary,
  ...(parameters !== undefined && { parameters }),
  ...(body !== undefined && { requestBody: { required: true, content: content(body) } }),
  responses: {
    "200": { description: "also rejections by the domain, with a `status`", content: content(answer) },
    ...(body !== undefined && { "422": { description: "a malformed body: `detail` states where" } })
  }
})

const reset = operation("Ends the run", text)

/** Paths with their operations, for the run named `default`. */
export const paths = {
  "/": { get: operation("Health check", object({ message: text })) },
  "/register": { post: operation("Registers the trainer", object({ uuid: integer }), { body: registration }) },
  "/register-env": {
    post: operation(
      "Registers an environment; `wait for trainer to start` until a trainer has requested a batch",
      object(
        {
          status: text,
          env_id: integer,
          wandb_name: text,
          checkpoint_dir: text,
          starting_step: integer,
          checkpoint_interval: integer,
          num_steps: integer
        },
        ["env_id", "wandb_name", "checkpoint_dir", "starting_step", "checkpoint_interval", "num_steps"]
      ),
      { body: environment }
    )
  },
  "/disconnect-env": { post: operation("Deregisters an environment", status, { body: id }) },
  "/scored_data": { post: operation("A scored group", status, { body: group }) },
  "/scored_data_list": { post: operation("Several scored groups", status, { body: listOf(group) }) },
  "/batch": {
    get: operation("The oldest batch, under a lease; null if none", object({ batch: orNull(listOf(group)) }))
  },
  "/status": { get: operation("Step and groups in the queue", object(queue)) },
  "/status-env": {
    get: operation("The queue from the view of an environment; the id may be in the body instead", environmentStatus, {
      parameters: [{ name: "env_id", in: "query", required: false, schema: integer }]
    })
  },
  "/wandb_info": {
    get: operation("Group and project of Weights & Biases", object({ group: orNull(text), project: orNull(text) }))
  },
  "/info": {
    get: operation(
      "Batch size and token limit; -1 without a run",
      object({ batch_size: integer, max_token_len: integer })
    )
  },
  "/latest_example": { get: operation("The latest group", group) },
  "/reset_data": { get: reset, post: reset }
}
