/**
 * The environment of any program, with the recipe of example 17: the same model from scratch, with the same
 * demonstrations.
 */
import { Command } from "@atropos/envs"

export { recipe } from "../../examples/17-ai-sdk-agent.ts"
export default Command.layer
