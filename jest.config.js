/** Tests run on the compiled output, so what is tested is what runs. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist/test'],
  testMatch: ['**/*.test.js'],
  transform: {},
  globalSetup: '<rootDir>/dist/test/support/interface-total-start.js',
  setupFilesAfterEnv: ['<rootDir>/dist/test/support/interface-setup.js'],
  globalTeardown: '<rootDir>/dist/test/support/interface-total.js',
  testSequencer: '<rootDir>/dist/test/support/longest-first.js',
  // One for all: it ends what hangs, and says nothing of how fast a machine has to be.
  testTimeout: 240_000,
  // One more than cores: most tests wait for blocks and processes.
  maxWorkers: 3,
  workerIdleMemoryLimit: '1GB',
};
