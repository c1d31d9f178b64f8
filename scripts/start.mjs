// npm start: install, build, run. The service itself is gateway/main.ts.
process.argv.splice(2, 0, 'gateway/main.js');
await import('./run.mjs');
