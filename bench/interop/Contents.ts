/**
 * Compares the groups that a trainer received with those the environments sent: each at most once, complete, in batches
 * of the right size.
 */
import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"

interface Group {
  readonly tokens: ReadonlyArray<ReadonlyArray<number>>
  readonly masks: ReadonlyArray<ReadonlyArray<number>>
  readonly inference_logprobs: ReadonlyArray<ReadonlyArray<number>>
  readonly env_id?: number
  readonly [field: string]: unknown
}

export interface Received {
  readonly batches: number
  readonly groups: number
  readonly sequences: number
  readonly tokens: number
  /** Batches with groups of more than one environment. */
  readonly mixed: number
  /** Groups per environment id. */
  readonly byEnvironment: ReadonlyMap<number, number>
}

const lines = async (file: string): Promise<ReadonlyArray<string>> =>
  (await readFile(file, "utf8")).split("\n").filter((line) => line !== "")

/** Null and missing are equivalent to every reader of a group. */
const present = (group: Group): Record<string, unknown> =>
  Object.fromEntries(Object.entries(group).filter(([name, value]) => value !== null && name !== "env_id"))

const checkAlignment = ({ inference_logprobs: logprobs, masks, tokens }: Group): void => {
  tokens.forEach((ids, index) => {
    const mask = masks[index]!
    const given = logprobs[index]!
    assert.equal(mask.length, ids.length, "masks are as long as tokens")
    assert.equal(given.length, ids.length, "inference_logprobs are as long as tokens")
    mask.forEach((label, t) => {
      assert.ok(label === -100 || label === ids[t], "a mask is -100 or the token")
      assert.ok(
        label === -100 ? given[t] === 1 : given[t]! <= 0,
        "a logprob is 1 where nothing was sampled, else at most 0"
      )
    })
  })
}

/** `sent` are the files with the environments' groups, `received` the trainer's batches, one per line. */
export const compare = async (sent: ReadonlyArray<string>, received: string, batchSize: number): Promise<Received> => {
  const waiting = new Map<string, Array<Group>>()
  for (const file of sent) {
    for (const line of await lines(file)) {
      const group = JSON.parse(line) as Group
      const key = JSON.stringify(group.tokens)
      waiting.set(key, [...(waiting.get(key) ?? []), group])
    }
  }
  const byEnvironment = new Map<number, number>()
  let mixed = 0
  let groups = 0
  let sequences = 0
  let tokens = 0
  const batches = (await lines(received)).map((line) => JSON.parse(line) as ReadonlyArray<Group>)
  for (const batch of batches) {
    assert.equal(
      batch.reduce((sum, group) => sum + group.tokens.length, 0),
      batchSize,
      "sequences of a batch"
    )
    if (new Set(batch.map(({ env_id: id }) => id)).size > 1) mixed += 1
    for (const group of batch) {
      const origin = waiting.get(JSON.stringify(group.tokens))?.pop()
      assert.ok(origin, "a group that nobody sent, or that came twice")
      assert.deepEqual(present(group), present(origin))
      checkAlignment(group)
      groups += 1
      sequences += group.tokens.length
      tokens += group.tokens.reduce((sum, ids) => sum + ids.length, 0)
      const environment = group.env_id ?? -1
      byEnvironment.set(environment, (byEnvironment.get(environment) ?? 0) + 1)
    }
  }
  return { batches: batches.length, groups, sequences, tokens, mixed, byEnvironment }
}
