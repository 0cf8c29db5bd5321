/** Asks for what changes sampling. */
import { make } from "./preset.ts"

export default make({ ignore_eos: true })
