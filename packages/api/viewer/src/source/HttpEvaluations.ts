/** Reads the evaluations of a service. */
import type { HttpRequests } from "./HttpRequests.ts"
import type { Source } from "./Source.ts"
import type * as Wire from "./Wire.ts"

const mostEvaluations = 1000
const samplesPerPage = 2000

interface SamplePage {
  readonly samples: ReadonlyArray<Wire.EvaluationSampleRow>
  readonly next: number | null
}

const of = (id: string): string => `/evaluations/${encodeURIComponent(id)}`

export const make = (
  json: HttpRequests["json"]
): Pick<Source, "evaluations" | "evaluation" | "evaluationSamples" | "evaluationSample"> => {
  return {
    evaluations: async (signal) => {
      const { evaluations } = await json<{ readonly evaluations: ReadonlyArray<Wire.EvaluationRow> }>(
        "/evaluations",
        { limit: mostEvaluations },
        signal
      )
      return evaluations
    },
    evaluation: (id, signal) => json(of(id), {}, signal),
    evaluationSamples: async (id, signal) => {
      const all: Array<Wire.EvaluationSampleRow> = []
      for (let from: number | null = 0; from !== null;) {
        const page: SamplePage = await json(`${of(id)}/samples`, { from, limit: samplesPerPage }, signal)
        all.push(...page.samples)
        from = page.next
      }
      return all
    },
    evaluationSample: async (id, number, signal) =>
      (await json<{ readonly sample: unknown }>(`${of(id)}/samples/${number}`, {}, signal)).sample
  }
}
