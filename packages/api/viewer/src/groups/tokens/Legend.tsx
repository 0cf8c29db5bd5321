/** Explains the colours of tokens. */
import { number } from "../../ui/Format.ts"
import type { Colouring } from "./Heat.ts"
import { differenceScale, type TokenModel } from "./TokenModel.ts"

export const Legend = ({ colouring, model }: { readonly colouring: Colouring; readonly model: TokenModel }) => {
  switch (colouring) {
    case "logprob":
      return (
        <p className="legend">
          certain <span className="ramp ramp-heat" /> unlikely (1 in 150)
        </p>
      )
    case "advantage":
      return (
        <p className="legend number">
          {`−${number(model.largestAdvantage, 3)}`} <span className="ramp ramp-signed" />
          {` +${number(model.largestAdvantage, 3)}`}
        </p>
      )
    case "reference":
      return (
        <p className="legend">
          less likely than the reference <span className="ramp ramp-signed" /> more likely
        </p>
      )
    case "trainer":
      return (
        <p className="legend number">
          {`−${number(differenceScale(model), 2)} nats: less likely to the trainer`}{" "}
          <span className="ramp ramp-signed" />
          {` +${number(differenceScale(model), 2)}: more likely`}
        </p>
      )
    case "mask":
      return (
        <p className="legend">
          <span className="swatch" /> trained
        </p>
      )
  }
}
