/** Offers another tool than its preset says. */
import { make } from "./preset.ts"

export default make({ tool: "other" })
