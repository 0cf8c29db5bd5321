/** Shows the numbers of a rollout and its actions. */
import * as VersionRuns from "@atropos/core/trajectory/VersionRuns"
import { Link } from "wouter"
import { groupPath } from "../route/Location.ts"
import { NoteText, NoteTools } from "../notes/NoteTools.tsx"
import type { AdvantageRecipe } from "../source/Wire.ts"
import { CopyButton } from "../ui/Copy.tsx"
import { count, number } from "../ui/Format.ts"
import { Icon } from "../ui/Icon.tsx"
import * as AdvantageRule from "./model/AdvantageRule.ts"
import { Components, type ComponentScale } from "./Components.tsx"
import { jsonOfRollout, type Rollout } from "./model/Group.ts"
import { Settings, Short } from "./Settings.tsx"
import * as TokenModel from "./tokens/TokenModel.ts"

interface Props {
  readonly run: string
  readonly id: string
  readonly raw: unknown
  readonly recipe: AdvantageRecipe | null
  readonly rollout: Rollout
  readonly components: ComponentScale
  /** Its re-scored value, if different. */
  readonly now: number | null
}

/** Steps without a learning signal do not update the weights, so the version lags behind the step. */
export const policyTitle = "Version of the weights that sampled it: number of updates before"

/** `3`, or `3 to 5` if the weights changed while it was sampled. */
const versionsOf = ({ policyVersion, versionRuns }: Rollout): string => {
  const known = VersionRuns.versions(versionRuns).filter((version) => version !== undefined)
  const newest = Math.max(policyVersion ?? 0, ...known)
  return newest === policyVersion ? String(newest) : `${policyVersion} to ${newest}`
}

export const RolloutHead = ({ components, id, now, raw, recipe, rollout, run }: Props) => {
  const { advantage, finishReason, index, parsed, policyVersion, rationale, rewards, score } = rollout
  const { finish_reason: _, parsed: ___, rewards: input, truncated: __, ...others } = rollout.overrides
  // Values that are not components are shown as they are.
  const withRewards = input === undefined || rewards.length > 0 ? others : { ...others, rewards: input }
  const settings = rationale === null ? withRewards : { ...withRewards, rationale: null }
  const isCut = finishReason === "length" || rollout.overrides["truncated"] === true
  return (
    <header className="rollout-head">
      <h2 className="number" title="score">
        <span className="sr-only">score </span>
        {score === null ? "no score" : number(score)}
        {now !== null && now !== score && (
          <span className="rescored" title="Score of the environment that re-scored it">
            now {number(now)}
          </span>
        )}
        {isCut && <span className="cut">truncated</span>}
      </h2>
      <p className="rollout-facts number">
        <span>rollout {index + 1}</span>
        {advantage !== null && (
          <span title={AdvantageRule.formula(recipe)}>
            adv <Signed value={advantage} />
          </span>
        )}
        {rollout.advantages !== null && <span title="Token-level advantages from the environment">adv by token</span>}
        <Length rollout={rollout} />
        {policyVersion !== null && <span title={policyTitle}>policy {versionsOf(rollout)}</span>}
        {!isCut && finishReason !== null && finishReason !== "stop" && <span>{finishReason}</span>}
        <Settings of={[settings]} />
      </p>
      {parsed !== undefined && (
        <p className="answer-read">
          {parsed === null ? (
            <span className="muted">unparsed answer</span>
          ) : (
            <>
              <span className="muted">parsed answer </span>
              <Short text={parsed} />
            </>
          )}
        </p>
      )}
      {rationale !== null && <Rationale text={rationale} />}
      {rewards.length > 0 && <Components rewards={rewards} scale={components} />}
      <NoteText group={id} rollout={index} />
      <div className="rollout-tools">
        <Link
          className="button quiet small icon-button"
          href={groupPath(run, id, { rollout: index, view: "tokens" })}
          aria-label={`Tokens of rollout ${index + 1}`}
          title="Tokens (t)"
        >
          <Icon name="tokens" />
        </Link>
        <NoteTools group={id} rollout={index} />
        <CopyButton
          label={`Copy rollout ${index + 1} as JSON`}
          isIconOnly
          text={() => JSON.stringify(jsonOfRollout(raw, index))}
        />
      </div>
    </header>
  )
}

/** An answer's length is that of its trained tokens, not of the whole sequence. */
const Length = ({ rollout }: { readonly rollout: Rollout }) => {
  const [trained, all] = [TokenModel.countTrained(rollout), rollout.tokens.length]
  return trained === 0 || trained === all ? (
    <span>{count(all)} tok</span>
  ) : (
    <span title={`${count(trained)} trained tokens; ${count(all)} with the prompt`}>
      {count(trained)} of {count(all)} tok
    </span>
  )
}

const short = 160

const Rationale = ({ text }: { readonly text: string }) =>
  text.length <= short ? (
    <p className="rationale">{text}</p>
  ) : (
    <details className="rationale">
      <summary>Rationale: {text.slice(0, short / 2)}…</summary>
      <p>{text}</p>
    </details>
  )

export const Signed = ({ value }: { readonly value: number }) => (
  <span className={value > 0 ? "positive" : value < 0 ? "negative" : undefined}>
    {`${value > 0 ? "+" : ""}${number(value, 3)}`}
  </span>
)
