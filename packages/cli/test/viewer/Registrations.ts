/** What trainers and environments register with for the pages of a live service. */

export const run = (name: string, batchSize: number) => ({
  name,
  batch_size: batchSize,
  max_token_length: 64,
  starting_step: 0,
  num_steps: 100,
  checkpoint_dir: "",
  save_checkpoint_interval: 0,
  wandb_group: "",
  wandb_project: ""
})

/** Of groups of three. */
export const environment = {
  desired_name: "math",
  weight: 1,
  group_size: 3,
  max_token_length: 64,
  min_batch_allocation: null
}
