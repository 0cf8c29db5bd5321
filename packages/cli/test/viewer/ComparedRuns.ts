/** Three saved runs of the same environments, for pages that compare them; one environment's name means harm. */

export const steps = 40
export const environments = ["arithmetic", "<img src=x onerror=alert(1)>", "letters"]
export const names = ["first", "second", "third"]

const metricsOf = (run: number) =>
  Array.from({ length: steps }, (_, at) => at + 1).flatMap((step) => [
    {
      id: String(step * 10),
      source: "trainer",
      step,
      at: step * 1000,
      values: { "reward/mean": (run + step / steps) / 4, "train/loss": 1 / (step + run) }
    },
    ...environments.map((source, place) => ({
      id: String(step * 10 + place + 1),
      source,
      step,
      at: step * 1000,
      values: {
        // Of one environment a hundred times the others': what they share is the axis.
        "train/scores_mean": (place === 2 ? 100 : 1) * (run / 10 + step / steps),
        "train/completion_lengths": 40 + 10 * place + step,
        "train/completion_lengths_p95": 60 + 10 * place + step,
        "train/completion_lengths_max": 80 + 10 * place + step
      }
    }))
  ])

/** As a page carries them. */
export const comparedRuns = () =>
  names.map((name, run) => ({ name, rows: [], groups: {}, pieces: {}, metrics: metricsOf(run) }))
