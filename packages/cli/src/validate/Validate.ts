/**
 * Checks an environment's laws on some of its items (`Laws` of core): gold answers get the top of the range and wrong
 * ones less, permuting a group permutes its scores, the same group gets the same scores, scores are finite and in
 * range, the same settings give the same items, and any text is scored without failure within a second, in multi-turn
 * episodes also as the last turn.
 *
 * Requires `claims` in the environment's definition. If it declares them impossible, gold and wrong answers are not
 * checked, and rollouts have scripted answers if scores need data from a rollout. All randomness is seeded. A score
 * that computes synchronously forever cannot be interrupted; one that waits ends after the limit, and ends the checks.
 */
import { Environment, Laws, type Trajectory } from "@atropos/core"
import * as Reason from "@atropos/core/base/Reason"
import { Array, Cause, Duration, Effect, Exit, Option, Random, Stream } from "effect"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import * as Hostile from "./Hostile.ts"

export interface ValidateOptions {
  readonly items: number
  /** Total random texts to score, over all items. */
  readonly texts: number
  readonly seed: number
}

export interface Verdict {
  readonly law: string
  readonly checks: number
  readonly violations: number
  /** The first violation: the item and the observation. */
  readonly first: string | undefined
}

export interface Validated {
  readonly items: number
  /** Why right and wrong answers cannot be tested, if they cannot. */
  readonly untestable: string | undefined
  /** Number of checks the environment declined to score, and the first reason. */
  readonly unscorable: number
  readonly firstUnscorable: string
  /** Items of which nothing could be scored, each with its first reason; none where claims are untestable. */
  readonly neverScored: ReadonlyArray<string>
  readonly verdicts: ReadonlyArray<Verdict>
}

const laws = {
  gold: "correct answers get the top score",
  wrong: "wrong answers score lower",
  permutation: "permuting a group permutes its scores",
  determinism: "the same group gets the same scores",
  finiteness: "scores are finite",
  range: "scores are in the claimed range",
  components: "scores match their components",
  items: "the same settings give the same items",
  robustness: "scoring never fails, for any text",
  speed: "scoring a text takes at most a second"
} as const
type LawName = keyof typeof laws

const scoreLimit = Duration.seconds(1)

/** Timeout of a law: scores that run programs are slow on a busy machine. */
const lawLimit = Duration.minutes(2)

/** Max failed rollouts before none are tried: each may take as long as a law. */
const maxFailedSamples = 3

type ScoreError = Environment.EnvironmentError | Environment.Unscorable | Cause.TimeoutError

const isTooSlow = (took: Duration.Duration): boolean => Duration.isGreaterThan(took, scoreLimit)

const short = (text: string): string =>
  text.length > 120 ? `${text.slice(0, 120)}… (${text.length} characters)` : text

const endingWith = (episode: Trajectory.Trajectory, text: string): Trajectory.Trajectory => ({
  ...episode,
  completion: text,
  messages: [...episode.messages.slice(0, -1), { role: "assistant", content: text }]
})

const scoresOf = (judged: ReadonlyArray<Environment.Judged>): ReadonlyArray<number> => judged.map(({ score }) => score)

const nothingChecked = (unscorable: number, items: number, first: string) =>
  new CommandFailed({
    message: `nothing was checked: none of ${unscorable} groups from ${items} items could be scored. The first was from item ${first}`
  })

const noClaims = ({ name }: { readonly name: string }) =>
  new UsageError({
    message: `the environment ${name} has no claims to check: add "claims" to its definition, with gold and wrong answers and the range of its scores, or { untestable: "why" } if they cannot be known`
  })

const noItems = ({ name }: { readonly name: string }) =>
  new CommandFailed({ message: `the environment ${name} has no items` })

/** Checks of single scores, for scores that are known. */
const soundness = (
  components: Environment.EnvironmentShape["components"],
  range: Laws.Range
): {
  readonly laws: ReadonlyArray<LawName>
  readonly check: (
    group: ReadonlyArray<Trajectory.Trajectory>
  ) => (judged: ReadonlyArray<Environment.Judged>) => Effect.Effect<void, Laws.LawBroken>
} => ({
  laws: Option.isSome(components) ? ["finiteness", "range", "components"] : ["finiteness", "range"],
  check: (group) =>
    Effect.fnUntraced(function* (judged) {
      yield* Laws.inRange(() => Effect.succeed(scoresOf(judged)), group, range)
      if (Option.isSome(components)) yield* Laws.components(judged, components.value, group)
    })
})

type Item = Environment.ClaimedItem
type Group = ReadonlyArray<Trajectory.Trajectory>

const makeRecord = () => {
  const verdicts = new Map<LawName, Verdict>()
  const unscorable = { count: 0, first: "", byItem: new Map<string, string>() }
  const scored = new Set<string>()
  const note = (law: LawName, violation?: string): void => {
    const before = verdicts.get(law) ?? { law: laws[law], checks: 0, violations: 0, first: undefined }
    verdicts.set(law, {
      ...before,
      checks: before.checks + 1,
      violations: before.violations + (violation === undefined ? 0 : 1),
      first: before.first ?? violation
    })
  }
  return {
    verdicts,
    unscorable,
    note,
    /** Notes checks of an item that its scores passed. */
    pass: ({ label }: Item, checked: ReadonlyArray<LawName>): void => {
      scored.add(label)
      for (const law of checked) note(law)
    },
    declined: ({ label }: Item, why: string): void => {
      const reason = `${short(label)}: ${why}`
      unscorable.count++
      unscorable.first ||= reason
      if (!unscorable.byItem.has(label)) unscorable.byItem.set(label, reason)
    },
    neverScored: (): ReadonlyArray<string> =>
      [...unscorable.byItem].flatMap(([label, reason]) => (scored.has(label) ? [] : [reason]))
  }
}

/** Rollouts of an item; none after several items whose rollouts failed. */
const sampling = (declined: (item: Item, why: string) => void) => {
  let failed = 0
  return (item: Item): Effect.Effect<Group> =>
    Effect.timeout(failed < maxFailedSamples ? item.sample : Effect.succeed([]), lawLimit).pipe(
      Effect.catchCause((cause) => {
        failed++
        declined(item, Reason.ofCause(cause))
        return Effect.succeed<Group>([])
      })
    )
}

export const run = Effect.fn("Validate.run")(
  function* (options: ValidateOptions) {
    const environment = yield* Environment.Environment
    if (Option.isNone(environment.claims)) return yield* noClaims(environment)
    const { items, scoreRange, untestable } = environment.claims.value
    const { declined, neverScored, note, pass, unscorable, verdicts } = makeRecord()

    const take = items.pipe(
      Stream.take(options.items),
      Stream.runCollect,
      Effect.mapError(
        (error) => new CommandFailed({ message: `the items cannot be read: ${error.message}`, cause: error })
      )
    )
    const taken = yield* take
    if (taken.length === 0) return yield* noItems(environment)
    const again = (yield* take).map(({ label }) => label)
    taken.forEach(({ label }, index) =>
      note(
        "items",
        again[index] === label
          ? undefined
          : `item ${index} was ${short(label)}, then ${short(again[index] ?? "absent")}`
      )
    )

    /** A score exceeded the limit; each further one would take as long. */
    let isStuck = false

    /** Returns true if the environment returned scores. */
    const check = Effect.fnUntraced(function* (
      item: Environment.ClaimedItem,
      checked: ReadonlyArray<LawName>,
      law: Effect.Effect<void, Laws.LawBroken | ScoreError>
    ) {
      if (isStuck) return false
      const exit = yield* Effect.exit(Effect.timeout(law, lawLimit))
      if (Exit.isSuccess(exit)) {
        pass(item, checked)
        return true
      }
      const error = Cause.squash(exit.cause)
      if (error instanceof Environment.Unscorable) {
        declined(item, error.message)
        return false
      }
      isStuck = Cause.isTimeoutError(error)
      const why = isStuck
        ? `no score within ${Duration.format(lawLimit)}, so the rest was not checked`
        : Reason.ofCause(exit.cause)
      note(error instanceof Laws.LawBroken ? error.law : "robustness", `${short(item.label)}: ${why}`)
      return true
    })

    const sound = soundness(environment.components, scoreRange)

    const sampleOf = sampling(declined)
    const hold = Effect.fnUntraced(function* (item: Item, group: Group) {
      if (group.length === 0) return
      const order = yield* Random.shuffle(group.map((_, index) => index))
      // Scored once for all laws, and once more for the law about repeatability: scoring may run a program.
      const judged = yield* Effect.exit(Effect.timeout(item.judge(group), lawLimit))
      const scored = Exit.map(judged, scoresOf)
      const known: Laws.ScoreGroup<ScoreError, never> = (input) =>
        input.length === group.length && input.every((one, index) => one === group[index]) ? scored : item.score(input)
      let calls = 0
      const again: Laws.ScoreGroup<ScoreError, never> = (input) => (calls++ === 0 ? known(input) : item.score(input))
      const hasClaims = item.gold.length + item.wrong.length > 0
      if (hasClaims) yield* check(item, ["gold", "wrong"], Laws.goldOnTop(known, item.gold, item.wrong, scoreRange))
      yield* check(item, ["permutation"], Laws.permutation(known, group, order))
      yield* check(item, ["determinism"], Laws.determinism(again, group))
      yield* check(item, sound.laws, Effect.flatMap(judged, sound.check(group)))
    })

    const stress = Effect.fnUntraced(function* (item: Item, known: Group, texts: ReadonlyArray<string>) {
      const episode = known.find(({ messages }) => messages.length > 1)
      const group = texts.flatMap((text) => [
        Laws.trajectoryOf(text),
        ...(episode === undefined ? [] : [endingWith(episode, text)])
      ])
      const scoring = Effect.flatMap(item.judge(group), sound.check(group))
      let [took, isScored] = yield* Effect.timed(check(item, ["robustness", ...sound.laws], scoring))
      if (!isScored || isStuck) return
      // Retried, since a busy machine can make anything slow once.
      for (let again = 0; again < 2 && isTooSlow(took); again++)
        [took] = yield* Effect.timed(Effect.exit(Effect.timeout(scoring, lawLimit)))
      note(
        "speed",
        isTooSlow(took)
          ? `${short(item.label)}: ${Duration.format(took)} for ${texts.map((text) => JSON.stringify(short(text))).join(" and ")}`
          : undefined
      )
    })

    const pairsPerItem = Math.ceil(options.texts / taken.length / 2)
    for (const [index, item] of taken.entries()) {
      const claimed = [...item.gold, ...item.wrong]
      const group = claimed.length > 0 ? claimed : yield* sampleOf(item)
      yield* hold(item, group)
      if (isStuck) break
      // Two texts per group, since some scores compare. The fixed texts do not depend on the item: the first items get
      // them all.
      const fixed = index < 2 ? Hostile.fixed : []
      const random = yield* Hostile.random(2 * pairsPerItem)
      for (const texts of Array.chunksOf([...fixed, ...random], 2))
        yield* stress(item, item.gold.length > 0 ? item.gold : group, texts)
    }
    const scored = [...verdicts].filter(([law]) => law !== "items")
    if (scored.length === 0 && untestable === undefined) {
      return yield* nothingChecked(unscorable.count, taken.length, unscorable.first)
    }
    return {
      items: taken.length,
      untestable,
      unscorable: unscorable.count,
      firstUnscorable: unscorable.first,
      neverScored: untestable === undefined ? neverScored() : [],
      verdicts: Object.keys(laws).flatMap((name) => verdicts.get(name as LawName) ?? [])
    } satisfies Validated
  },
  (effect, { seed }) => Random.withSeed(effect, seed)
)
