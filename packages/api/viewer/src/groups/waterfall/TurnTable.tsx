/** Shows a rollout turn by turn: one row each, with bars and times, and one for each call of a tool in between. */
import type { Call } from "@atropos/core/trajectory/Timings"
import { Fragment } from "react"
import { duration, quantity } from "../../ui/Quantity.ts"
import { count } from "../../ui/Format.ts"
import { Bars } from "./Bars.tsx"
import * as Waterfall from "./Waterfall.ts"

interface Row {
  readonly name: string
  readonly spans: ReadonlyArray<Waterfall.Span>
  readonly tokens: number | null
  readonly calls?: ReadonlyArray<Call>
}

const rowsOf = ({ after, before, turns }: Waterfall.Waterfall): ReadonlyArray<Row> => [
  ...(before.length === 0 ? [] : [{ name: "setup", spans: before, tokens: null }]),
  ...turns.map(({ calls, number, spans, tokens }) => ({ name: `turn ${number}`, spans, tokens, calls })),
  ...(after.length === 0 ? [] : [{ name: "scoring", spans: after, tokens: null }])
]

const kindsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<Waterfall.Kind> =>
  Waterfall.kinds.filter((kind) => rows.some(({ spans }) => Waterfall.total(spans, kind) > 0))

const speedOf = ({ spans, tokens }: Row): number | null => {
  const seconds = Waterfall.total(spans, "generating") / 1000
  return tokens === null || seconds === 0 ? null : tokens / seconds
}

/** Times in seconds, for files. */
export const tableOf = (waterfall: Waterfall.Waterfall) => {
  const rows = rowsOf(waterfall)
  const kinds = kindsOf(rows)
  return {
    columns: ["part", "start", ...kinds.map((kind) => Waterfall.titles[kind]), "tokens"],
    rows: rows.map(({ name, spans, tokens }) => [
      name,
      (spans[0]?.from ?? 0) / 1000,
      ...kinds.map((kind) => Waterfall.total(spans, kind) / 1000),
      tokens
    ])
  }
}

export const TurnTable = ({ waterfall }: { readonly waterfall: Waterfall.Waterfall }) => {
  const rows = rowsOf(waterfall)
  const kinds = kindsOf(rows)
  const hasTokens = rows.some(({ tokens }) => tokens !== null)
  return (
    <div className="waterfall-scroll" tabIndex={0} role="region" aria-label={`Turns of rollout ${waterfall.index + 1}`}>
      <table className="waterfall-table">
        <thead>
          <tr>
            <th scope="col">part</th>
            <th aria-hidden="true" className="waterfall-axis">
              <Axis to={waterfall.to} />
            </th>
            <th scope="col" className="number">
              start
            </th>
            {kinds.map((kind) => (
              <th key={kind} scope="col" className="number">
                {Waterfall.titles[kind]}
              </th>
            ))}
            {hasTokens && (
              <>
                <th scope="col" className="number">
                  tokens
                </th>
                <th scope="col" className="number">
                  speed
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Fragment key={row.name}>
              <tr>
                <th scope="row">{row.name}</th>
                <td aria-hidden="true">
                  <Bars spans={row.spans} to={waterfall.to} />
                </td>
                <td className="number">{duration((row.spans[0]?.from ?? 0) / 1000)}</td>
                {kinds.map((kind) => (
                  <td key={kind} className="number">
                    <Time millis={Waterfall.total(row.spans, kind)} />
                  </td>
                ))}
                {hasTokens && (
                  <>
                    <td className="number">{row.tokens === null ? "" : count(row.tokens)}</td>
                    <td className="number">{written(speedOf(row))}</td>
                  </>
                )}
              </tr>
              {row.calls?.map((call, place) => (
                <CallRow key={place} call={call} to={waterfall.to} columns={kinds.length + (hasTokens ? 2 : 0)} />
              ))}
            </Fragment>
          ))}
        </tbody>
      </table>
      {waterfall.moreCalls > 0 && <p className="muted">{`${count(waterfall.moreCalls)} more calls`}</p>}
    </div>
  )
}

/** Its time is part of its turn's, so it is not in that column again. */
const CallRow = ({ call, columns, to }: { readonly call: Call; readonly columns: number; readonly to: number }) => (
  <tr className={call.status === "failed" ? "waterfall-call is-failed" : "waterfall-call"}>
    <th scope="row" title={call.title}>
      {call.text === "" ? (
        call.title
      ) : (
        <details>
          <summary>{call.title}</summary>
          <pre>{call.text}</pre>
        </details>
      )}
    </th>
    <td aria-hidden="true">
      <Bars spans={[{ kind: "tools", from: call.from, to: call.to }]} to={to} />
    </td>
    <td className="number">{duration(call.from / 1000)}</td>
    <td colSpan={columns}>
      {`${duration((call.to - call.from) / 1000)}, ${call.kind}, ${call.status.replaceAll("_", " ")}`}
    </td>
  </tr>
)

const written = (speed: number | null): string => (speed === null ? "" : quantity(speed, "perSecond"))

const Time = ({ millis }: { readonly millis: number }) => (millis === 0 ? "" : duration(millis / 1000))

/** Round times above the bars, as many as fit. */
const Axis = ({ to }: { readonly to: number }) => (
  <span className="waterfall-ticks-row">
    {Waterfall.ticks(to, 4)
      .filter((at) => at < to * 0.92)
      .map((at) => (
        <span key={at} style={{ left: `${(100 * at) / (to || 1)}%` }}>
          {duration(at / 1000)}
        </span>
      ))}
  </span>
)
