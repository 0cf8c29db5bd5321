/**
 * What an engine itself saw: a back end that writes down the ids it was sent and the ids it sampled, and whether a
 * session's sequences are made of exactly these.
 */
import { Effect } from "effect"
import type { Backend } from "../../src/inference/backend/Backend.ts"
import type { Trajectory } from "../../src/trajectory/Trajectory.ts"

export interface Sampled {
  readonly inputIds: ReadonlyArray<number>
  readonly tokens: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
}

export interface TokenLog {
  readonly backend: Backend
  /** One for each choice, in the order they were sampled. */
  readonly log: ReadonlyArray<Sampled>
}

export const make = (backend: Backend): TokenLog => {
  const log: Array<Sampled> = []
  return {
    log,
    backend: {
      ...backend,
      tokens: (request) =>
        Effect.tap(backend.tokens(request), (choices) =>
          Effect.sync(() => {
            for (const { logprobs, tokens } of choices) log.push({ inputIds: request.inputIds, tokens, logprobs })
          })
        )
    }
  }
}

const startsWith = (ids: ReadonlyArray<number>, prefix: ReadonlyArray<number>): boolean =>
  prefix.length <= ids.length && prefix.every((id, at) => ids[at] === id)

/**
 * What is wrong with a sequence against the log: its ids must be a prompt that was sent and what was sampled after it,
 * and its trained ids must each be sampled ones, at the place they were sampled. Undefined where it is right.
 */
export const difference = ({ mask, tokens }: Trajectory, log: ReadonlyArray<Sampled>): string | undefined => {
  const ids = Array.from(tokens)
  const wholes = log.map((one) => ({ ...one, ids: [...one.inputIds, ...one.tokens] }))
  const last = wholes.find((one) => one.ids.length === ids.length && startsWith(ids, one.ids))
  if (last === undefined) return `its ${ids.length} ids are not a prompt and what was sampled after it`
  const sampled = new Uint8Array(ids.length)
  for (const one of wholes) if (startsWith(ids, one.ids)) sampled.fill(1, one.inputIds.length, one.ids.length)
  const foreign = mask.findIndex((trained, at) => trained === 1 && sampled[at] !== 1)
  return foreign === -1 ? undefined : `id ${foreign} is trained and was not sampled there`
}

/** Every sampled id of the log that no sequence trains, and every id that several do. */
export const coverage = (trajectories: ReadonlyArray<Trajectory>, log: ReadonlyArray<Sampled>): ReadonlyArray<number> =>
  log.map(({ inputIds, tokens: sampled }) => {
    const ids = [...inputIds, ...sampled]
    return trajectories.filter(
      ({ mask, tokens }) =>
        startsWith(Array.from(tokens.subarray(0, ids.length)), ids) &&
        mask.subarray(inputIds.length, ids.length).every((trained) => trained === 1)
    ).length
  })
