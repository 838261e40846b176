BEGIN TRANSACTION;
CREATE TABLE graphveil_datasets (
	name VARCHAR(200) NOT NULL, 
	number INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	events INTEGER NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE (number)
);
INSERT INTO "graphveil_datasets" VALUES('people',1,'{"budget":{"delta":1e-06,"epsilon":2.0,"kind":"Budget"},"dataset":"people","number":1,"previous":"","time":"2026-11-16T03:03:21.891+00:00","token":"98e558f9c31fcf7b1787dad3a518b606"}','75e67ba3aa3d5958df7f0ce988c78a7f522ee07ec97487e60f436cb9e8842c2c',2,'46d9091684883115129c9a382868d02de2e92a5637abc560c041bf2313f2314c');
INSERT INTO "graphveil_datasets" VALUES('simulated',2,'{"budget":{"delta":1e-06,"epsilon":2.0,"kind":"Budget"},"dataset":"simulated","number":2,"previous":"75e67ba3aa3d5958df7f0ce988c78a7f522ee07ec97487e60f436cb9e8842c2c","time":"2026-11-16T03:03:21.989+00:00","token":"8539ef757402b6095869f5439a059814"}','2ecb56a8dd168465a128ebf3b63ea9dd8f3c8f80854a78ed07dfeab691f0082b',1,'9eab352a96d69fd97ebd6e624b05bdebdc185e340573cba27fb4483f21ee370a');
CREATE TABLE graphveil_events (
	dataset VARCHAR(200) NOT NULL, 
	number INTEGER NOT NULL, 
	token VARCHAR(32) NOT NULL, 
	"key" VARCHAR(200), 
	content TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (dataset, number), 
	FOREIGN KEY(dataset) REFERENCES graphveil_datasets (name), 
	UNIQUE (token), 
	UNIQUE ("key")
);
INSERT INTO "graphveil_events" VALUES('people',1,'719d039c70ed2d671163580e3512f4d8',NULL,'{"balance":{"seeded":0,"sums":{"1":["7689082489739055306337933029289/1298074214633706907132624082305024","1/1180591620717411303424"]}},"dataset":"people","event":{"budget":{"delta":1e-06,"epsilon":0.30000000000000004,"kind":"Budget"},"eta":8.470329472543003e-22,"kind":"ReleaseEvent","mechanism":"default","mu":0.07696397653929274,"n_samples":100,"neighbours":"replace","rounds":"adaptive","rows_per_person":1,"seeded":false},"key":null,"mu":"0.07696397653929274","number":1,"previous":"75e67ba3aa3d5958df7f0ce988c78a7f522ee07ec97487e60f436cb9e8842c2c","request":null,"time":"2026-11-16T03:03:22.850+00:00","token":"719d039c70ed2d671163580e3512f4d8"}','f7f00e82cc041a7d6cc40c33f81514bf9cf7400f9286440b24443af56a5c26f0');
INSERT INTO "graphveil_events" VALUES('people',2,'6cd26645a34f72704860be63f52d23ab','lost','{"balance":{"seeded":0,"sums":{"1":["7689082489739055306337933029289/1298074214633706907132624082305024","1/1180591620717411303424"],"3":["2848173406379103441556205362881/324518553658426726783156020576256","1/1180591620717411303424"]}},"dataset":"people","event":{"budget":{"delta":1e-09,"epsilon":0.5,"kind":"Budget"},"eta":8.470329472543003e-22,"kind":"ReleaseEvent","mechanism":"default","mu":0.09368357337465655,"n_samples":100,"neighbours":"replace","rounds":"adaptive","rows_per_person":3,"seeded":false},"key":"lost","mu":"0.09368357337465655","number":2,"previous":"f7f00e82cc041a7d6cc40c33f81514bf9cf7400f9286440b24443af56a5c26f0","request":{"allow_unproven":"fcbcf165908dd18a9e49f7ff27810176db8e9f63b4352213741664245224f8aa","augment":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","budget":"2079cbc0ed6532abbe93c7fea95f57745991a12d0b48efb179e885130e51cac4","dataset":"de518ccf2f676b54f7090271a75600b3582db15ae085763fd0cee82ebe830ff4","domain":"a30b6f9f3a7a48722365cf3f955e27552efaf7cf815d924e7a4f64feddb0cde7","mechanism":"1080a60800d9e5bddc69f51489c636a776bacaadb5368f46db4aa0947c67e3ba","random_state":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","rounds":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},"time":"2026-11-16T03:03:22.915+00:00","token":"6cd26645a34f72704860be63f52d23ab"}','46d9091684883115129c9a382868d02de2e92a5637abc560c041bf2313f2314c');
INSERT INTO "graphveil_events" VALUES('simulated',1,'cacc9e7572db2b585fd1c63a346b2d8a',NULL,'{"balance":{"seeded":1,"sums":{}},"dataset":"simulated","event":{"budget":{"delta":1e-06,"epsilon":0.25,"kind":"Budget"},"eta":8.470329472543003e-22,"kind":"ReleaseEvent","mechanism":"default","mu":0.06489009911205966,"n_samples":100,"neighbours":"replace","rounds":"adaptive","rows_per_person":1,"seeded":true},"key":null,"mu":"inf","number":1,"previous":"2ecb56a8dd168465a128ebf3b63ea9dd8f3c8f80854a78ed07dfeab691f0082b","request":null,"time":"2026-11-16T03:03:22.981+00:00","token":"cacc9e7572db2b585fd1c63a346b2d8a"}','9eab352a96d69fd97ebd6e624b05bdebdc185e340573cba27fb4483f21ee370a');
CREATE TABLE graphveil_ledger (
	version INTEGER NOT NULL, 
	datasets INTEGER NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "graphveil_ledger" VALUES(1,2,'2ecb56a8dd168465a128ebf3b63ea9dd8f3c8f80854a78ed07dfeab691f0082b');
CREATE TABLE graphveil_releases (
	"key" VARCHAR(200) NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY ("key"), 
	FOREIGN KEY("key") REFERENCES graphveil_events ("key")
);
COMMIT;
