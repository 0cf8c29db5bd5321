/**
 * The first requests of a trainer and an environment: register a run, poll for a batch once, register an environment.
 */
import { randomUUID } from "node:crypto"
import { type Answer, Pool, type Request, send } from "./Load.ts"

const pool = new Pool()

export const call = async (port: number, request: Request): Promise<Answer> => {
  const answer = await send(port, request, pool)
  if (answer.status >= 300) {
    throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.body.toString("utf8", 0, 300)}`)
  }
  return answer
}

export const post = (path: string, value: unknown): Request => ({
  method: "POST",
  path,
  headers: { "content-type": "application/json" },
  body: Buffer.from(JSON.stringify(value))
})

/** Starts a fresh run of that batch size with one environment; returns its id. */
export const open = async (port: number, batchSize: number, groupSize: number): Promise<number> => {
  await call(port, { method: "GET", path: "/reset_data" })
  await call(
    port,
    post("/register", {
      wandb_group: "bench",
      wandb_project: "bench",
      batch_size: batchSize,
      max_token_len: 4096,
      checkpoint_dir: "",
      save_checkpoint_interval: 0,
      starting_step: 0,
      num_steps: 1_000_000
    })
  )
  await call(port, { method: "GET", path: "/batch" })
  const { body } = await call(
    port,
    post("/register-env", { max_token_length: 4096, desired_name: "bench", weight: 1, group_size: groupSize })
  )
  return (JSON.parse(body.toString()) as { readonly env_id: number }).env_id
}

/** Requests that send the same packed body with new keys each time; the rest of the body is sent without copying. */
export const packedSubmissions = (encoded: Uint8Array, keys: ReadonlyArray<string>): (() => Request) => {
  const whole = Buffer.from(encoded)
  const places = keys.map((key) => whole.indexOf(key))
  if (places.includes(-1)) throw new Error("a key is not in the packed body")
  // Between the keys, and after the last; the keys are in the index at the front, in order.
  const parts = places.map((place, index) =>
    whole.subarray(index === 0 ? 0 : places[index - 1]! + keys[index - 1]!.length, place)
  )
  const rest = whole.subarray(places.at(-1)! + keys.at(-1)!.length)
  return () => ({
    method: "POST",
    path: "/v1/runs/default/groups",
    headers: { "content-type": "application/vnd.atropos.group" },
    body: [...parts.flatMap((part) => [part, Buffer.from(randomUUID())]), rest]
  })
}
