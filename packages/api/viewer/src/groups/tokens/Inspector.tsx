/** Shows all values of one token with full precision. */
import * as VersionRuns from "@atropos/core/trajectory/VersionRuns"
import { number } from "../../ui/Format.ts"
import type { Rollout } from "../model/Group.ts"
import { percent } from "./Heat.ts"
import { label, type Token, type TokenModel } from "./TokenModel.ts"

interface Props {
  readonly token: Token
  readonly model: TokenModel
  readonly rollout: Rollout
}

/** The digits of single precision. */
const exact = (value: number): string => number(value, 7)

export const Inspector = ({ model, rollout, token }: Props) => {
  const { advantage, candidates, difference, id, index, isTrained, logprob, refLogprob, text, trainerLogprob } = token
  const version =
    rollout.versionRuns.length === 0
      ? rollout.policyVersion
      : (VersionRuns.versionAt(rollout.versionRuns, index) ?? null)
  return (
    <aside className="inspector" tabIndex={0} aria-label="Token" aria-live="polite">
      <p className="inspector-token mono">{label(token)}</p>
      <dl className="number">
        <Fact name="Position" value={`${index + 1} of ${model.length}`} />
        <Fact name="ID" value={String(id)} />
        <Fact name="Text" value={text === null ? "unknown" : JSON.stringify(text)} />
        <Fact name="Mask" value={isTrained ? "trained" : "not trained"} />
        <Fact name="Logprob" value={logprob === null ? "not sampled" : exact(logprob)} />
        {logprob !== null && <Fact name="Probability" value={percent(logprob)} />}
        {refLogprob !== null && <Fact name="Reference" value={exact(refLogprob)} />}
        {refLogprob !== null && logprob !== null && <Fact name="Log ratio" value={exact(logprob - refLogprob)} />}
        {isTrained && (
          <Fact name="Trainer logprob" value={trainerLogprob === null ? "not recorded" : exact(trainerLogprob)} />
        )}
        {difference !== null && <Fact name="Trainer − sampler" value={`${number(difference, 4)} nats`} />}
        <Fact
          name="Advantage"
          value={
            advantage === null
              ? "none"
              : `${exact(advantage)} ${model.hasTokenAdvantages ? "(token level)" : "(rollout level)"}`
          }
        />
        <Fact name="Policy" value={version === null ? "unknown" : `version ${version}`} />
        {trainerLogprob !== null && rollout.trained?.version != null && (
          <Fact name="Trainer" value={`version ${rollout.trained.version}`} />
        )}
      </dl>
      {candidates.length > 0 && (
        <table className="number">
          <caption>Teacher candidates</caption>
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col">Logprob</th>
            </tr>
          </thead>
          <tbody>
            {candidates.slice(0, 20).map((candidate) => (
              <tr key={candidate.id} className={candidate.id === id ? "is-taken" : undefined}>
                <td className="mono">{label(candidate)}</td>
                <td>{exact(candidate.logprob)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </aside>
  )
}

const Fact = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)
