/**
 * Provides a teacher: another model whose most likely tokens at every position of a rollout the policy imitates (the
 * trainer's `distill` loss).
 *
 * It reads the same token ids as the policy, so both must share one vocabulary (`check`). `attach` scores whole
 * sequences: candidate lists are aligned with the tokens, the first one is empty, and their lengths differ if a server
 * adds the token itself. Behaves like teacher_distillation_env.py of the original, except that a group which the
 * teacher cannot score fails, and is therefore retried.
 */
import { Context, Effect, Layer, Schema } from "effect"
import type { RolloutGroup } from "@atropos/core/Environment"
import { field, fromFields } from "@atropos/core/base/Settings"
import { InferenceError, type PromptRequest, type PromptLogprobs } from "@atropos/core/inference/wire/Inference"
import * as ServerManager from "@atropos/core/inference/ServerManager"
import type * as ServerSettings from "@atropos/core/inference/backend/ServerSettings"
import type { SlurmError } from "@atropos/core/inference/backend/Slurm"
import {
  bytes,
  layerNamed,
  Tokenizer,
  TokenizerError,
  type TokenizerShape
} from "@atropos/core/inference/tokenizer/Tokenizer"
import * as SecondModel from "./SecondModel.ts"

export interface TeacherShape {
  readonly isConfigured: boolean
  readonly modelName: string
  readonly tokenizer: TokenizerShape
  /** The teacher's most likely tokens at every position of a prompt. */
  readonly promptLogprobs: (request: PromptRequest) => Effect.Effect<PromptLogprobs, InferenceError>
}

export class Teacher extends Context.Service<Teacher, TeacherShape>()("@atropos/envs/kit/Teacher") {}

/** Teacher and policy have different vocabularies. */
export class VocabularyMismatch extends Schema.TaggedError<VocabularyMismatch>()("VocabularyMismatch", {
  message: Schema.String
}) {}

const role = SecondModel.absent("teacher", "a server whose /generate returns prompt logprobs: vLLM's or atropos policy")

/** Settings of a teacher: `--teacher.<field>`, and the map or list `teacher:` of a file. */
export const settings = fromFields({
  ...SecondModel.fields(
    "teacher",
    "URL of the teacher's server, including /v1; its /generate must return prompt logprobs (vLLM, atropos policy); if empty, none"
  ),
  tokenizerName: field(
    Schema.String,
    "none",
    "the teacher's tokenizer, with the same vocabulary as the policy's; none means that of model_name"
  )
})
export type Settings = Effect.Success<ReturnType<typeof settings.decode>>

/** The teacher; fails if none is configured. */
export const required = role.required(Teacher)

/** Placeholder without a configured teacher. */
export const layerNone: Layer.Layer<Teacher> = Layer.succeed(Teacher, {
  ...role.none,
  tokenizer: bytes,
  promptLogprobs: () => role.refuse
})

/** The teacher on one or several servers; the placeholder if no server has an address. */
export const layer = (
  servers: ReadonlyArray<Partial<Settings>>,
  manager: Partial<ServerSettings.Manager> = {}
): Layer.Layer<Teacher, SlurmError | TokenizerError> => {
  const all = servers.map((input) => settings.complete(input)).filter(({ baseUrl }) => baseUrl !== "")
  const [first] = all
  if (first === undefined) return layerNone
  const name = first.tokenizerName === "none" ? first.modelName : first.tokenizerName
  const own = all.map((server) => ({ ...server, serverType: "vllm" as const, tokenizerName: "none" }))
  const tokenizer = layerNamed(name).pipe(
    Layer.catch((error) =>
      Layer.effect(
        Tokenizer,
        Effect.fail(
          new TokenizerError({
            tokenizer: name,
            message: `the teacher's tokenizer: ${error.message}; name it with --teacher.tokenizer_name`,
            cause: error
          })
        )
      )
    )
  )
  return layerNoDeps.pipe(Layer.provide(SecondModel.servers(manager, own)), Layer.provide(Layer.fresh(tokenizer)))
}

/** The servers in the context as a teacher, with the context's tokenizer, for example a model in this process. */
export const layerNoDeps: Layer.Layer<Teacher, never, ServerManager.ServerManager | Tokenizer> = Layer.effect(
  Teacher,
  Effect.gen(function* () {
    const { modelName, promptLogprobs } = yield* ServerManager.ServerManager
    return { isConfigured: true, modelName, promptLogprobs, tokenizer: yield* Tokenizer }
  })
)

/**
 * Checks that the teacher's vocabulary is the policy's: the same tokenizer by name, or the same ids for the same
 * tokens.
 */
export const check = Effect.fn("Teacher.check")(function* (teacher: TeacherShape, student: TokenizerShape) {
  const { tokenizer } = teacher
  if (tokenizer.name === student.name) return
  const [mine, its] = [student.vocabulary?.(), tokenizer.vocabulary?.()]
  const isSame =
    mine !== undefined &&
    its !== undefined &&
    mine.size === its.size &&
    Array.from(mine).every(([token, id]) => its.get(token) === id)
  if (isSame) return
  return yield* new VocabularyMismatch({
    message:
      `the teacher's tokenizer ${tokenizer.name} has a different vocabulary from the policy's, ${student.name}: ` +
      "its token ids would mean other tokens. Use a teacher of the same family, or name its tokenizer with --teacher.tokenizer_name"
  })
})

/**
 * The group with the teacher's `topK` most likely tokens at every position. `groupOverrides.teacher_top_k` sets another
 * number for this group; `groupOverrides.skip_teacher_top_k`, or a number below 0, leaves it unchanged.
 */
export const attach = Effect.fn("Teacher.attach")(function* (
  teacher: TeacherShape,
  group: RolloutGroup,
  topK: number
): Effect.fn.Return<RolloutGroup, InferenceError> {
  const { skip_teacher_top_k: skipped, teacher_top_k: own } = group.groupOverrides ?? {}
  const k = typeof own === "number" ? own : topK
  if (skipped === true || k < 0) return group
  const scored = yield* Effect.forEach(
    group.trajectories,
    ({ tokens }) =>
      Effect.filterOrElse(
        teacher.promptLogprobs({ inputIds: Array.from(tokens), topK: Math.max(1, k) }),
        ({ topLogprobs, topTokenIds }) =>
          topTokenIds.length === tokens.length && topLogprobs.length === topTokenIds.length,
        ({ topTokenIds }) =>
          Effect.fail(
            new InferenceError({
              reason: "malformed",
              server: teacher.modelName,
              message: `the teacher scored ${topTokenIds.length} positions of a sequence of ${tokens.length} tokens`
            })
          )
      ),
    { concurrency: "unbounded" }
  )
  return {
    ...group,
    distillTokenIds: scored.map(({ topTokenIds }) => topTokenIds.map((ids) => Int32Array.from(ids))),
    distillLogprobs: scored.map(({ topLogprobs }) => topLogprobs.map((logprobs) => Float32Array.from(logprobs)))
  }
})
