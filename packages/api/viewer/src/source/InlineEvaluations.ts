/** Reads evaluations in a saved page: their samples' chats are those of the page's groups. */
import { type Source, SourceError } from "./Source.ts"
import type * as Wire from "./Wire.ts"

/** `chatOf` returns the unpacked chat of a run's group. */
export const make = (
  { evaluations: all = [] }: Wire.StaticData,
  chatOf: (run: string, group: string) => unknown
): Pick<Source, "evaluations" | "evaluation" | "evaluationSamples" | "evaluationSample"> => {
  const find = (id: string) => {
    const found = all.find(({ row }) => row.id === id)
    if (found === undefined) throw new SourceError("not-found", `Evaluation ${id} not found in this page.`)
    return found
  }
  return {
    evaluations: async () => all.map(({ row }) => row),
    evaluation: async (id) => find(id).row,
    evaluationSamples: async (id) => find(id).samples.map(({ head }) => head),
    evaluationSample: async (id, number) => {
      const { row, samples } = find(id)
      const sample = samples.find(({ head }) => head.number === number)
      if (sample === undefined) throw new SourceError("not-found", `Evaluation ${id} has no sample ${number}.`)
      return { ...sample.fields, messages: chatOf(row.run ?? "", sample.group) }
    }
  }
}
