/**
 * Turns an agent written without training in mind into an environment: `defineAgent` takes a few plain functions.
 *
 * Each run of the agent has its own gateway session, whose URL its SDK uses as the model's; the exact tokens of every
 * answer are trained on (`SessionRuns`). A run that throws, takes too long or never calls the model is dropped from its
 * group, unless `scoreFailure` scores it.
 */
import * as ItemTime from "@atropos/core/definition/ItemTime"
import { type Dataset, Environment, Laws, type ServerManager, type Trajectory } from "@atropos/core"
import { DefinitionFault } from "@atropos/core/definition/EnvironmentError"
import * as OwnCopy from "@atropos/core/base/system/OwnCopy"
import * as Platform from "@atropos/core/base/system/Platform"
import { Effect, Option } from "effect"
import type * as Gateway from "@atropos/core/gateway/Gateway"
import * as Trained from "@atropos/core/gateway/session/Trained"
import type { AgentDefinition, AgentModel, AnyAgent, SettingsOf } from "./AgentDefinition.ts"
import * as AgentSample from "./AgentSample.ts"
import * as AgentSettings from "./AgentSettings.ts"
import * as Caller from "./Caller.ts"
import * as Claims from "./Claims.ts"
import * as DefinitionShape from "./DefinitionShape.ts"
import * as Failures from "./Failures.ts"
import * as Foreign from "./Foreign.ts"
import * as Items from "./Items.ts"
import * as Outcome from "./Outcome.ts"
import * as RunReport from "./RunReport.ts"
import type * as PlainSettings from "./PlainSettings.ts"
import * as SessionGroup from "./SessionGroup.ts"
import * as SessionRuns from "./SessionRuns.ts"
import type { Numbered } from "./SessionRuns.ts"

const keys = {
  name: "string",
  items: "any",
  heldOut: "any?",
  settings: "object?",
  run: "function",
  trained: "any?",
  score: "function?",
  scoreFailure: "function?",
  gold: "function?",
  wrong: "function?",
  scoreRange: "range?",
  solved: "function?",
  label: "function?"
} as const satisfies { readonly [K in keyof Required<AnyAgent>]: DefinitionShape.Kind }

/** The environment of an agent, to be the default export of its file. Throws `TypeError` for an invalid definition. */
export const defineAgent = <
  const I extends Items.Items<unknown, SettingsOf<D>>,
  Result,
  const D extends PlainSettings.Declaration = {}
>(
  definition: AgentDefinition<I, Result, D>
): Environment.EnvironmentLayer<
  SettingsOf<D> & AgentSettings.Agent,
  unknown,
  ServerManager.ServerManager | Dataset.Dataset
> => {
  const folder = Caller.folder()
  DefinitionShape.check("defineAgent", definition, keys)
  // The author's types end here: below, a function accepts what the definition's other functions return.
  const agent = definition as unknown as AnyAgent
  const settings = AgentSettings.make(agent.settings)
  const layer = Environment.layer(agent.name, settings, (selected) => make(agent, selected, folder))
  return layer as unknown as ReturnType<typeof defineAgent<I, Result, D>>
}

const make = Effect.fn("Agent.make")(function* (
  agent: AnyAgent,
  selected: Parameters<ReturnType<typeof AgentSettings.make>["encode"]>[0],
  folder: string | undefined
) {
  const { evaluationItems, items, testItems } = selected
  const source = yield* Items.source({
    items: agent.items,
    heldOut: agent.heldOut,
    instead: { items, heldOut: testItems },
    settings: selected,
    evaluationItems,
    folder
  }).pipe(Effect.provide(Platform.layer))
  const runs = yield* SessionRuns.make<unknown, DefinitionFault | Environment.Unscorable, never>({
    name: agent.name,
    settings: selected,
    source,
    trained: trainedBy(agent.trained, selected.trained),
    ...(agent.solved !== undefined && { isCorrect: agent.solved }),
    sample: (numbered, outcome) =>
      Effect.map(Laws.goldTexts(claimed.claims, numbered), ({ gold }) =>
        AgentSample.of({ gold, item: numbered.item, outcome })
      ),
    // A copy for each run, so that one that changes its item changes no other's.
    begin: (numbered, split) =>
      Effect.sync(() => OwnCopy.of(numbered.item)).pipe(
        Effect.map((item) => {
          let given: AgentModel | undefined
          return {
            use: (session) => {
              const model = (given = modelOf(session))
              return Foreign.call((signal) => agent.run({ item, model, signal, settings: selected, split })).pipe(
                Effect.onInterrupt(() => RunReport.ended(model))
              )
            },
            report: () => given && RunReport.of(given),
            judge: (outcome: Outcome.Outcome<unknown>) => judge(agent, selected, item, outcome)
          }
        })
      )
  })
  const claimed: Claims.ClaimedResults<Numbered> = Claims.make<Numbered>({
    gold: agent.gold && (({ item }) => agent.gold!(item)),
    wrong: agent.wrong && (({ item }) => agent.wrong!(item)),
    scoreRange: agent.scoreRange,
    sample: agent.score && ((numbered) => Effect.flatMap(runs.sample(numbered), sampled))
  })
  return {
    ...runs.definition,
    // Groups arrive scored; this scores claims only.
    score: (numbered: Numbered, group: ReadonlyArray<Trajectory.Trajectory>) =>
      Effect.forEach(
        group,
        Effect.fnUntraced(function* (trajectory) {
          const result = claimed.resultOf(numbered, trajectory)
          if (agent.score !== undefined && Option.isNone(result)) return yield* unknownResult
          const judged = yield* scored(agent, {
            item: numbered.item,
            result: Option.getOrUndefined(result),
            messages: trajectory.messages,
            rewards: undefined,
            settings: selected,
            trajectory,
            trajectories: [trajectory]
          })
          return SessionGroup.score(judged)
        })
      ),
    claims: claimed.claims,
    label: ({ item }: Numbered) => Failures.labelOf(agent, item)
  }
})

const modelOf = (session: Gateway.Session): AgentModel => ({
  baseURL: session.baseURL,
  anthropicBaseURL: session.anthropicBaseURL,
  rewardURL: session.rewardURL,
  apiKey: session.apiKey,
  name: session.modelName,
  ...(session.contextLength !== undefined && { contextLength: session.contextLength })
})

/** The setting, else the definition's. */
const trainedBy = (defined: AnyAgent["trained"], selected: Trained.Trained | null) =>
  selected === null && typeof defined === "function"
    ? defined
    : Trained.by[selected ?? (defined as Trained.Trained) ?? "all"]

const unknownResult = new Environment.Unscorable({
  message: `its score needs the result of run, which is unknown: ${Claims.advice}`
})

/** A run made by `validate` for its result. */
const sampled = (outcome: Outcome.Outcome<unknown>): Effect.Effect<Claims.Sampled, Environment.Unscorable> => {
  const trajectory = Outcome.main(outcome)
  return outcome._tag === "Ended" && trajectory !== undefined
    ? Effect.succeed({ result: outcome.result, trajectory })
    : Effect.fail(
        new Environment.Unscorable({
          message: `its run with a scripted answer failed${outcome._tag === "Failed" ? `: ${outcome.reason}` : ""}; to check its score without runs, ${Claims.advice}`
        })
      )
}

/** Calls the author's `score`; reports an error in it as a fault of the definition. */
const scored = Effect.fnUntraced(function* (
  { score }: AnyAgent,
  session: Parameters<NonNullable<AnyAgent["score"]>>[0]
) {
  if (score === undefined) {
    return yield* new Environment.Unscorable({ message: "claims need a score function" })
  }
  return yield* checked("score", ItemTime.during("score")(Foreign.call(() => score(session))))
})

const checked = (part: string, judging: Effect.Effect<unknown, Foreign.Thrown>) =>
  judging.pipe(
    Effect.mapError(Foreign.fault(part)),
    Effect.flatMap((value) => {
      const fault = SessionGroup.faultOf(value)
      return fault === undefined
        ? Effect.succeed(value as SessionGroup.Judged)
        : Effect.fail(
            new DefinitionFault({
              part,
              message: `${part} gave ${DefinitionShape.kindOf(value)}, which ${fault}; expected a number, or numbers by name, such as { correct: 1, brief: 0.5 }`
            })
          )
    })
  )

/** The reward of a run; a failed outcome if none. */
const judge = Effect.fnUntraced(function* (
  agent: AnyAgent,
  settings: unknown,
  item: unknown,
  outcome: Outcome.Outcome<unknown>
) {
  const { reported: rewards, trajectories } = outcome
  const session = { item, messages: OwnCopy.of(outcome.messages), rewards, settings, trajectories }
  if (outcome._tag === "Failed") {
    const { scoreFailure } = agent
    if (scoreFailure === undefined || trajectories.length === 0) return outcome
    const { error, reason } = outcome
    const score = yield* Foreign.call(() => scoreFailure({ ...session, error, reason })).pipe(
      ItemTime.during("scoreFailure"),
      Effect.mapError(Foreign.fault("scoreFailure"))
    )
    return score === undefined ? outcome : yield* checked("scoreFailure", Effect.succeed(score))
  }
  const { result } = outcome
  const trajectory = Outcome.main(outcome)
  if (agent.score !== undefined && trajectory !== undefined)
    return yield* scored(agent, { ...session, result, trajectory })
  if (rewards !== undefined) return rewards
  if (SessionGroup.faultOf(result) === undefined) return result as SessionGroup.Judged
  const answer =
    typeof result === "number" ? `run returned ${DefinitionShape.kindOf(result)}, which is not a reward` : unrewarded
  return Outcome.failed(outcome, "unrewarded", answer)
})

const unrewarded =
  "the run has no reward: give the agent a score, return a number or numbers by name from run, or POST to /reward of the session's URL"
