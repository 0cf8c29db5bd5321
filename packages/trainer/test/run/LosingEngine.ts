/** An engine that loses its weights at chosen calls, as a server does that is restarted: all it had is gone then. */
import { Effect } from "effect"
import type { Learner, LearnerEngineShape } from "../../src/learn/LearnerEngine.ts"
import { TrainerError } from "../../src/learn/TrainerError.ts"

export interface Loss {
  readonly call: "load" | "forwardBackward" | "optimizerStep" | "save" | "publish"
  /** Which of these calls, from 1, counted over all learners. */
  readonly at: number
  /** Whether the call was done, and only its answer is lost. */
  readonly isDone?: boolean
}

const lost = (call: string) => new TrainerError({ reason: "engineLost", message: `the server was restarted (${call})` })

/** Around an engine: what it loses when. */
export const make = (losses: ReadonlyArray<Loss>) => {
  const calls = new Map<string, number>()
  const lossAt = (call: Loss["call"]) => {
    const at = (calls.get(call) ?? 0) + 1
    calls.set(call, at)
    return losses.find((loss) => loss.call === call && loss.at === at)
  }
  return (engine: LearnerEngineShape): LearnerEngineShape => ({
    ...engine,
    load: Effect.fnUntraced(function* (options) {
      if (lossAt("load") !== undefined) return yield* lost("load")
      const learner = yield* engine.load(options)
      let isLost = false
      const may = <A>(call: Loss["call"], effect: Effect.Effect<A, TrainerError>) =>
        Effect.suspend(() => {
          const loss = lossAt(call)
          isLost ||= loss !== undefined
          if (!isLost) return effect
          return Effect.andThen(loss?.isDone === true ? Effect.asVoid(effect) : Effect.void, Effect.fail(lost(call)))
        })
      return {
        ...learner,
        forwardBackward: (batch, look) => may("forwardBackward", learner.forwardBackward(batch, look)),
        optimizerStep: (learningRate) => may("optimizerStep", learner.optimizerStep(learningRate)),
        save: (folder, version) => may("save", learner.save(folder, version)),
        publish: (version) => may("publish", learner.publish(version))
      } satisfies Learner
    })
  })
}
