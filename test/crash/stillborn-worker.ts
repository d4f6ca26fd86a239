// A worker that dies before it can say anything.

throw new Error('Died at the start');
