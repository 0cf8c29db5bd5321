/** Shows the metrics of two rollouts side by side. */
import { number } from "../../ui/Format.ts"
import { SaveMenu } from "../../save/SaveMenu.tsx"
import type { Rollout } from "../model/Group.ts"
import * as TokenModel from "../tokens/TokenModel.ts"

interface Figure {
  readonly name: string
  readonly of: (rollout: Rollout) => number | string | null
}

const component = (name: string): Figure => ({
  name,
  of: ({ rewards }) => rewards.find(([own]) => own === name)?.[1] ?? null
})

const trainedOf = (rollout: Rollout): TokenModel.TokenModel => TokenModel.make(rollout, {})

const figures: ReadonlyArray<Figure> = [
  { name: "score", of: ({ score }) => score },
  { name: "advantage", of: ({ advantage }) => advantage },
  { name: "tokens", of: ({ tokens }) => tokens.length },
  { name: "trained tokens", of: (rollout) => trainedOf(rollout).trained },
  { name: "mean logprob", of: (rollout) => trainedOf(rollout).meanLogprob },
  { name: "messages", of: ({ messages }) => messages?.length ?? null },
  { name: "finish reason", of: ({ finishReason }) => finishReason },
  { name: "policy", of: ({ policyVersion }) => policyVersion }
]

const format = (value: number | string | null): string =>
  value === null ? "–" : typeof value === "number" ? number(value) : value

const change = (left: number | string | null, right: number | string | null): string =>
  typeof left === "number" && typeof right === "number" && left !== right
    ? `${right > left ? "+" : "−"}${number(Math.abs(right - left), 3)}`
    : left === right
      ? "="
      : ""

export const Differences = ({ left, right }: { readonly left: Rollout; readonly right: Rollout }) => {
  const names = [...new Set([...left.rewards, ...right.rewards].map(([name]) => name))]
  const rows = [...figures, ...names.map(component)]
    .map(({ name, of }) => ({ name, left: of(left), right: of(right) }))
    .filter((row) => row.left !== null || row.right !== null)
  return (
    <div className="differences">
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Metrics of both rollouts">
        <table className="data-table">
          <caption className="sr-only">
            Rollout {left.index + 1} and rollout {right.index + 1}
          </caption>
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col" className="number">
                Rollout {left.index + 1}
              </th>
              <th scope="col" className="number">
                Rollout {right.index + 1}
              </th>
              <th scope="col" className="number">
                Difference
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name} className={row.left === row.right ? "muted" : undefined}>
                <th scope="row">{row.name}</th>
                <td className="number" data-title={`Rollout ${left.index + 1}`}>
                  {format(row.left)}
                </td>
                <td className="number" data-title={`Rollout ${right.index + 1}`}>
                  {format(row.right)}
                </td>
                <td className="number" data-title="Difference">
                  {change(row.left, row.right)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="table-foot">
        <SaveMenu
          name={`rollouts ${left.index + 1} and ${right.index + 1}`}
          table={() => ({
            columns: ["figure", `rollout ${left.index + 1}`, `rollout ${right.index + 1}`],
            rows: rows.map((row) => [row.name, row.left, row.right])
          })}
        />
      </div>
    </div>
  )
}
