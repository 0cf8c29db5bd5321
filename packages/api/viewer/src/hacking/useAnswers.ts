/** Loads the answers of some early and late groups one after the other, on demand. */
import { useEffect, useState } from "react"
import * as Group from "../groups/model/Group.ts"
import type { Source } from "../source/Source.ts"
import type * as Wire from "../source/Wire.ts"
import { useSource } from "../state/SourceContext.tsx"
import type { Answer } from "./Ngrams.ts"

/** Max groups loaded from the first and from the last third. */
const ofEach = 40
/** Groups with more tokens in total are only loaded after confirmation. */
export const fewTokens = 400_000
const atOnce = 4

const spread = <A>(all: ReadonlyArray<A>, max: number): ReadonlyArray<A> => {
  const every = Math.max(1, all.length / max)
  return Array.from({ length: Math.min(all.length, max) }, (_, at) => all[Math.floor(at * every)]!)
}

interface Sampled {
  readonly row: Wire.RolloutRow
  readonly isLate: boolean
}

/** Groups with differing scores, evenly over their first and last third; `rows` are newest first. */
export const sampleOf = (rows: ReadonlyArray<Wire.RolloutRow>): ReadonlyArray<Sampled> => {
  const telling = rows
    .filter(({ preview, scores }) => preview !== null && scores.some((score) => score !== scores[0]))
    .toReversed()
  const third = Math.ceil(telling.length / 3)
  const early = spread(telling.slice(0, third), ofEach).map((row) => ({ row, isLate: false }))
  const late = spread(telling.slice(Math.max(third, telling.length - third)), ofEach)
  return [...early, ...late.map((row) => ({ row, isLate: true }))]
}

const written = (message: { readonly role: string; readonly raw: unknown }): string => {
  const fields: { readonly [key: string]: unknown } =
    typeof message.raw === "object" && message.raw !== null ? { ...message.raw } : {}
  const parts = Array.isArray(fields["content"])
    ? fields["content"].map((part: unknown) =>
        typeof part === "object" && part !== null && "text" in part ? part.text : part
      )
    : [fields["content"]]
  return [fields["reasoning_content"], ...parts].filter((part) => typeof part === "string").join(" ")
}

const answersOf = (stored: Wire.Rollout, isLate: boolean): ReadonlyArray<Answer> => {
  const group = Group.read(stored.group)
  if (group === null || group.mean === null) return []
  const { mean } = group
  const shared = Group.sharedMessages(group)
  return group.rollouts.flatMap(({ messages, score }) =>
    messages === null || score === null
      ? []
      : [
          {
            isLate,
            isBetter: score > mean,
            text: messages
              .slice(shared)
              .filter(({ role }) => role === "assistant")
              .map(written)
              .join("\n")
          }
        ]
  )
}

const read = async (
  source: Source,
  run: string,
  sample: ReadonlyArray<Sampled>,
  signal: AbortSignal,
  report: () => void
) => {
  const answers: Array<Answer> = []
  const waiting = [...sample]
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      answers.push(...answersOf(await source.rollout(run, next.row.id, signal), next.isLate))
      report()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return answers
}

export interface Answers {
  readonly answers: ReadonlyArray<Answer> | null
  readonly done: number
  readonly problem: string | null
}

/** `key` identifies the sample; null: none yet. */
export const useAnswers = (run: string, key: string | null, sample: ReadonlyArray<Sampled>): Answers => {
  const source = useSource()
  const [state, setState] = useState<Answers & { readonly key: string | null }>({
    key: null,
    answers: null,
    done: 0,
    problem: null
  })
  useEffect(() => {
    if (key === null) return
    const abort = new AbortController()
    let done = 0
    const report = (answers: ReadonlyArray<Answer> | null, problem: string | null = null) => {
      if (!abort.signal.aborted) setState({ key, answers, done, problem })
    }
    read(source, run, sample, abort.signal, () => {
      done++
      report(null)
    }).then(
      (answers) => report(answers),
      (cause: unknown) => report(null, cause instanceof Error ? cause.message : String(cause))
    )
    return () => abort.abort()
    // The sample is determined by the key.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [source, run, key])
  return state.key === key ? state : { answers: null, done: 0, problem: null }
}
