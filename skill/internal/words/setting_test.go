package words

import (
	"strings"
	"testing"
)

// A value that is a setting passes, whatever its name is like.
func TestSettingsAreNoSecrets(t *testing.T) {
	for line := range strings.Lines(`PASSWORD_MIN_LENGTH=8
TOKEN_LIMIT=4096
TOKEN_TTL=15m
JWT_SECRET_ROTATION_DAYS=30
ACCESS_TOKEN_EXPIRES_IN=3600
MYSQL_ALLOW_EMPTY_PASSWORD=yes
RUN_PASS=1
AWS_REGION=eu-west-1
AWS_DEFAULT_REGION=us-gov-west-1
AWS_AVAILABILITY_ZONE=eu-west-1a
AZURE_LOCATION=westeurope
AZURE_REGION=eastus2
AWS_ACCOUNT_ID=123456789012
AWS_MAX_ATTEMPTS=3
AWS_ENDPOINT_URL=http://localhost:4566
GITHUB_ACTIONS=true
GITHUB_WORKSPACE=/home/runner/work/app/app
GITHUB_SERVER_URL=https://github.com
GITHUB_API_URL=https://api.github.com
DB_PASSWORD_PORT=5432
CACHE_KEY=v1
SORT_KEY=created_at
PRIMARY_KEY=id
PUBLIC_KEY=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqk4zqvdFx9m2o7T1r8mJYwZ5u0cP3sN6bH8xWvQeRt
PUBLIC_KEY_FILE=k.pub
NEXT_PUBLIC_API_KEY=pk_4f9a8b7c6d5e4f3a2b1c
NEXT_PUBLIC_AUTH_URL=https://login.example.com
APIKEY_HEADER_NAME=X-Api-Key
SESSION_SECRET_NAME=prod/web/session
TOKEN_ADDRESS=0x6B175474E89094C44Da98b954EedeAC495271d0F
SECRET_KEY_FILE=config/secret.key
PRIVATE_KEY_PATH=./certs/server-key.pem
DB_PASSWORD_FILE=/run/secrets/db_password
GOOGLE_APPLICATION_CREDENTIALS=/home/me/.config/gcloud/credentials.json
AWS_SHARED_CREDENTIALS_FILE=~/.aws/credentials
AUTH_TOKEN_URL=https://login.example.com/oauth/token
DATABASE_URL=postgres://localhost/app
DATABASE_URL=postgresql://postgres@localhost:5432/app_test?sslmode=disable
DATABASE_URL=jdbc:postgresql://db:5432/app
DATABASE_URL=sqlite:///db.sqlite3
DATABASE_URL=file:./dev.db
DB_URL=mysql://root@127.0.0.1:3306/shop
REDIS_URL=redis://localhost:6379/0
MONGO_URL=mongodb://[::1]:27017/app
TOKENIZERS_PARALLELISM=false
MAX_TOKENS=4096
OPENAI_MAX_TOKENS=2048
TOKEN_EXPIRY=7d
REFRESH_TOKEN_TTL=2592000
SESSION_COOKIE_SECURE=true
CSRF_COOKIE_NAME=csrftoken
PASSWORD_HASHER=argon2id
PASSWORD_RESET_TIMEOUT=3600
BCRYPT_SALT_ROUNDS=12
JWT_ALGORITHM=RS256
JWT_ISSUER=https://login.example.com
JWT_AUDIENCE=my-app
OAUTH_CALLBACK_URL=http://localhost:3000/auth/callback
OAUTH_SCOPES=openid profile email
AUTH_PROVIDER=github
AUTH_ENABLED=true
NEXTAUTH_URL=http://localhost:3000
NEXT_PUBLIC_SUPABASE_URL=https://abc.supabase.co
VITE_API_URL=http://localhost:8080
VITE_PUBLIC_KEY_ID=main
REACT_APP_AUTH_DOMAIN=dev.eu.auth0.com
AWS_PROFILE=default
AWS_PAGER=
AWS_SDK_LOAD_CONFIG=1
AWS_CONFIG_FILE=/home/me/.aws/config
AWS_S3_BUCKET=my-bucket
GOOGLE_CLOUD_PROJECT=my-project
AZURE_CLIENT_REGION=westus2
DATABASE_URL=postgres://app@db.internal/app?pool=5
DATABASE_POOL_SIZE=10
TEST_DATABASE_URL=postgres://postgres@127.0.0.1/test
REDIS_TLS_URL=rediss://cache.internal:6380
ELASTICSEARCH_URL=http://localhost:9200
KAFKA_BROKERS=localhost:9092
KEYCLOAK_URL=https://sso.example.com/realms/app
VAULT_ADDR=http://127.0.0.1:8200
SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
SSL_KEY_FILE=certs/key.pem
TLS_KEY_PATH=/etc/ssl/private/server.key
SSH_KEY_PATH=~/.ssh/id_ed25519
GPG_KEY_FILE=signing.asc
PUBLIC_KEY_URL=https://example.com/keys.json
HOTKEY_MODE=vim
KEYBOARD_LAYOUT=us
KEYMAP=de
MONKEY_PATCH=1
PASSENGER_APP_ENV=production
PASSIVE_MODE=true
BYPASS_CACHE=1
COMPASS_PORT=1234
AUTHOR=Ann
AUTHORITY=example.com
GIT_AUTHOR_NAME=Ann Lee
GIT_COMMITTER_EMAIL=ann@example.com
SECRETARY_EMAIL=office@example.com
SECRET_SANTA=true
PYTEST_ADDOPTS=-q
NODE_ENV=test
RAILS_ENV=test
CREDENTIALS_DIRECTORY=/run/credentials/app.service
S3_KEY_PREFIX=uploads/images
FEATURE_TOKEN_REFRESH=on
MIN_TOKEN_LENGTH=16
PRIVATE_NETWORK=10.0.0.0/8
AMQP_URL=amqp://rabbitmq:5672
CELERY_BROKER_URL=redis://redis:6379/1
`) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if IsSecret(name, value) {
			t.Errorf("%s=%s is taken for a credential", name, value)
		}
	}
}

// None of 200 credentials passes, whatever a name of a credential goes on with.
func TestSecretsAreNoSettings(t *testing.T) {
	names := strings.Fields(`API_TOKEN TOKEN_LIMIT SECRET_KEY_FILE AWS_REGION DATABASE_URL`)
	n := 0
	for value := range strings.Lines(`wJalrXUtnFEMI/K7MDENG/bPxRfiCYzTq0aB3xKe
/r4Qz9TbK2mWvX8LpNc5YhJ7sGfD1uEoA6iRkMtBw
k3Jd8sLq0ZpX7vNm
hunter2-hunter2
correct-horse-battery-staple-9
S3cr3t!
P@ssw0rd123
Tr0ub4dor&3
letmein!
8472019365
0000-1111-2222-3333
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
5f4dcc3b5aa765d61d8327deb882cf99
550e8400-e29b-41d4-a716-446655440000
0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318
dGhpcyBpcyBhIHNlY3JldCB2YWx1ZQ==
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj
ghp_16C7e42F292c6912E7710c838347Ae178B4a
glpat-Xy7_aB3kLmN9pQrStUvW
sk-proj-T3BlbkFJ8aVn2kQm4sXw
sk_live_51Hb2dKJ8xQmPzT7v
xoxb-1234567890-0987654321-aBcDeFgHiJkL
npm_a8Kd93jLsQ0pZxV7nMb2cRtY5uWeIoP1aSdF
AKIAIOSFODNN7EXAMPLE
AIzaSyD4q8T1xKz7VbN2mLpR6wYc3HjF9sQeUoA
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl
SG.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf
AC3f2a9d8b7c6e5f4a3b2c1d0e9f8a7b6c:secretword
postgres://app:pA55w0rd@db.example.com/app
redis://:k8Xq2Lm9@cache:6379
mysql://root:root@localhost/shop
mongodb+srv://admin:Zx9Kq@cluster0.mongodb.net
https://4f9a8b7c6d5e4f3a@sentry.example.com/1
https://x-token@github.com/a/b
https://eth.example.com/v2/aK3dLm9PqR7sTuVwXyZ0
https://hooks.example.com/hook?token=k3Jd8sLq
https://hooks.slack.com/services/T0/B0/abc
amqps://user:Pw1@rabbit.example.com/vhost
Server=db;User Id=sa;Password=Pa55;
/home/k3Jd8sLq0ZpX7vNmT2
`) {
		for _, name := range names {
			n++
			if value := strings.TrimSuffix(value, "\n"); !IsSecret(name, value) {
				t.Errorf("%s=%s passes", name, value)
			}
		}
	}
	if n != 200 {
		t.Errorf("%d credentials were tried", n)
	}
}

// A plain password is not a setting.
func TestWordsAreSecrets(t *testing.T) {
	for _, v := range []string{"PASSWORD=x", "DB_PASSWORD=hunter", "ADMIN_PASS=123456", "PGPASSWORD=letmein",
		"API_KEY=k.pub", "TOKEN_1=48201937", "DATABASE_URL=x", "AWS_SECRET_ACCESS_KEY=eu-west-1",
		"SECRET_KEY=change-me", "MYSQL_PASSWORD=western"} {
		if name, value, _ := strings.Cut(v, "="); !IsSecret(name, value) {
			t.Errorf("%s passes", v)
		}
	}
}
