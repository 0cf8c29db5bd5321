/**
 * Distils a teacher into the policy: the teacher's top tokens at every position of the policy's answers are sent with
 * them, for the trainer's `distill` loss (on sampled sequences: Agarwal et al., arXiv 2306.13649).
 *
 * Teacher and policy must share one vocabulary, which is checked at the start. The score, which the loss ignores, is
 * the mean of the teacher's logprobs of the sampled tokens, in nats; a token outside the teacher's list counts as the
 * last one listed. Behaviour: teacher_distillation_env.py of the original. Default prompts: GSM8K, MIT.
 */
import { Columns, Environment, Message, ServerManager, Tokenizer, Trajectory } from "@atropos/core"
import * as ItemSource from "./kit/ItemSource.ts"
import * as SingleTurn from "./kit/SingleTurn.ts"
import * as Teacher from "./kit/Teacher.ts"
import { Effect, Schema } from "effect"

export const settings = Environment.settings({
  ...SingleTurn.fields,
  promptStyle: SingleTurn.promptStyle,
  ensureScoresAreNotSame: Environment.field(Schema.Boolean, false, "drop groups in which all scores are equal"),
  source: Environment.field(
    Schema.NonEmptyString,
    "openai/gsm8k/main/train",
    "prompts: a data set on the hub, or a file"
  ),
  testSource: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "evaluation prompts; if unset, a tenth of source is held out"
  ),
  promptColumn: Environment.field(Schema.NonEmptyString, "question", "column with the prompt"),
  systemPrompt: Environment.field(Schema.String, "", "system prompt for policy and teacher; if empty, none"),
  teacherTopK: Environment.field(
    Schema.Int,
    16,
    "number of the teacher's most likely tokens per position; below 0 turns them off, which leaves nothing to learn from (vLLM returns at most 20 by default)"
  )
})

interface Item {
  readonly prompt: string
}

/** Mean of the teacher's logprobs (nats) of the trained tokens of a sequence. */
export const teacherLogprob = (
  { mask, tokens }: Pick<Trajectory.Trajectory, "mask" | "tokens">,
  topTokenIds: ReadonlyArray<Int32Array>,
  topLogprobs: ReadonlyArray<Float32Array>
): number => {
  let sum = 0
  let count = 0
  for (let t = 0; t < tokens.length; t++) {
    const logprobs = topLogprobs[t]
    if (mask[t] === 0 || logprobs === undefined || logprobs.length === 0) continue
    const at = topTokenIds[t]!.indexOf(tokens[t]!)
    sum += at === -1 ? logprobs.reduce((min, logprob) => Math.min(min, logprob)) : logprobs[at]!
    count++
  }
  return count === 0 ? 0 : sum / count
}

export const layer = Environment.layer("distill", settings, (selected) =>
  Effect.gen(function* () {
    const { maxTokenLength, promptColumn, promptStyle, seed, systemPrompt, teacherTopK } = selected
    const servers = yield* ServerManager.ServerManager
    const teacher = yield* Teacher.required
    yield* Teacher.check(teacher, yield* Tokenizer.Tokenizer)
    const { heldOut, items } = yield* ItemSource.shuffledRows({
      ...selected,
      columns: { prompt: { setting: "prompt_column", column: promptColumn, kind: Columns.text } }
    })
    const asking = SingleTurn.make(servers, selected, ({ prompt }: Item) =>
      promptStyle === "compact"
        ? { text: prompt, maxAnswerLength: maxTokenLength - 1, samplingSeed: seed }
        : { messages: [...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]), Message.user(prompt)] }
    )
    const taught = Effect.fn("Distill.taught")(function* (trajectories: ReadonlyArray<Trajectory.Trajectory>) {
      const group = yield* Teacher.attach(teacher, { trajectories }, teacherTopK)
      const { distillLogprobs = [], distillTokenIds = [] } = group
      const scores = trajectories.map((trajectory, index) =>
        teacherLogprob(trajectory, distillTokenIds[index] ?? [], distillLogprobs[index] ?? [])
      )
      return { ...group, scores }
    })
    return {
      items,
      collectTrajectories: (item: Item) =>
        Effect.map(Effect.flatMap(asking.train(item), taught), (group) => ({ groups: [group] })),
      evaluation: {
        items: heldOut,
        collectTrajectories: (item: Item) => Effect.flatMap(asking.evaluate(item), taught)
      },
      label: ({ prompt }: Item) => prompt,
      claims: { untestable: "its scores are the teacher's logprobs of the sampled tokens" }
    }
  })
)
